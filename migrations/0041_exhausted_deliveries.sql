-- Lists deliveries whose every attempt failed, over all endpoints, without reading the others.
create index webhook_deliveries_exhausted on webhook_deliveries (id desc)
  where status = 'exhausted' and trigger <> 'test';
