-- stacksexport looks into the files themselves.
CREATE OR REPLACE MACRO function_at(module, build_id, place) AS function_in_file(module, build_id, place);
