create table items (id text primary key, price bigint not null);
