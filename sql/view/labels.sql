-- The texts of the roots of a tree.
SELECT DISTINCT label, text
FROM page.chosen($root, $command, $tgid, $pid, $thread, $span, $cgroup, $host)
WHERE label != 0;
