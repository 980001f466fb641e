-- Replaced by a function of stacksexport, which reads the files.
CREATE OR REPLACE MACRO function_at(module, build_id, place) AS function_in_file(module, build_id, place);
