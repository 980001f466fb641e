-- How to know more from the next recording: the advice of `stacksexport top` (top_advice).
SELECT '- ' || md_text(upper(advice[1]) || advice[2:]) || '.' AS line
FROM top_advice;
