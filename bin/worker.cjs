// The entry of a worker process. Ctrl-C in a terminal signals every process of the group; the primary stops its workers in
// order, so they ignore signals from their first line on, before anything else is loaded.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {});

require('./load-program.cjs')
  .loadServer()
  .then(({ runWorkerProcess }) => runWorkerProcess());
