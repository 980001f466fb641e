<?php
// Pages of a shop under PHP-FPM: each request reads its stock from a slow service, and formats a list.

function fetch_stock(int $item): int {
    usleep(2000); // stands for a request to another service
    return $item * 7 % 100;
}

function stock(array $items): array {
    return array_map(fn($item) => fetch_stock($item), $items);
}

function format_page(array $stock): string {
    $page = '';
    for ($i = 0; $i < 20000; $i++) {
        $page .= htmlspecialchars("item $i: " . $stock[$i % count($stock)]) . "\n";
    }
    return $page;
}

echo strlen(format_page(stock(range(1, 5))));
