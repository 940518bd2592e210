create index items_price on items (price);
