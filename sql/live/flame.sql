-- `stacksexport live`: CPU time by stack. path: numbers of functions, the outermost first; [on top] of them the kernel's.
SELECT
    list_reverse(list_concat(coalesce(k.functions, []), coalesce(u.functions, []))) AS path,
    sum(s.cpu_ns)::BIGINT AS ns
FROM cpu_samples s
LEFT JOIN numbered_stacks u ON u.stack_id = s.ustack_id
LEFT JOIN numbered_stacks k ON k.stack_id = s.kstack_id
GROUP BY path
ORDER BY path;
