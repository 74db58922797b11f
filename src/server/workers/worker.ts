/**
 * The entry of a worker process. A Ctrl-C in a terminal reaches every process of the group; the primary stops its workers in
 * order, so they leave signals alone from their first line on, before anything else is loaded.
 */
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});

const { runWorker } = await import('./run-worker.ts');
await runWorker();
