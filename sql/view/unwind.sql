-- How the walks of user stacks ended.
SELECT how, rows
FROM page.unwinds
ORDER BY rows DESC, how;
