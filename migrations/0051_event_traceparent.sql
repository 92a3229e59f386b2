-- The trace of the request or job that caused an event, passed on to its deliveries (W3C traceparent).
alter table webhook_events add column traceparent text;
