-- min_version: 0.1.0
-- ANALYZE reads, decompresses and sorts the values of every column that has statistics, and what an operation carries is mostly JSON that no
-- plan depends on. Expressions that are searched in it have indexes, and those have statistics of their own. Of the busiest tables it
-- takes a quarter of the time without them, and autovacuum runs it again each time that a table has grown by a tenth.
ALTER TABLE events
  ALTER xid SET STATISTICS 0, ALTER from_state SET STATISTICS 0, ALTER to_state SET STATISTICS 0, ALTER comment SET STATISTICS 0,
  ALTER metadata SET STATISTICS 0, ALTER snapshot SET STATISTICS 0, ALTER changes SET STATISTICS 0, ALTER address SET STATISTICS 0,
  ALTER request_id SET STATISTICS 0, ALTER via SET STATISTICS 0;
ALTER TABLE operations
  ALTER request_fingerprint SET STATISTICS 0, ALTER params SET STATISTICS 0, ALTER steps SET STATISTICS 0,
  ALTER error SET STATISTICS 0, ALTER approval SET STATISTICS 0, ALTER waiting_for SET STATISTICS 0,
  ALTER cancel_reason SET STATISTICS 0;
ALTER TABLE machines
  ALTER spec SET STATISTICS 0, ALTER conditions SET STATISTICS 0, ALTER observed SET STATISTICS 0,
  ALTER maintenance SET STATISTICS 0, ALTER hardware SET STATISTICS 0, ALTER locating SET STATISTICS 0;
ALTER TABLE operation_logs ALTER text SET STATISTICS 0;
ALTER TABLE fake_machines ALTER state SET STATISTICS 0;
