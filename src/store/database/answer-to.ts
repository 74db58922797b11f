import type pg from 'pg';

/** Of a statement. */
export interface Answer {
  readonly command: string;
  readonly rows: unknown[];
}

/** Without the driver's own promises. Only an error has a stack trace made, that of its caller. */
export async function answerTo(client: pg.ClientBase, query: pg.Query): Promise<Answer> {
  try {
    return await answered(client, query);
  } catch (error) {
    if (error instanceof Error) Error.captureStackTrace(error);
    throw error;
  }
}

function answered(client: pg.ClientBase, query: pg.Query): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const settled = (error: Error | null, answer: Answer | readonly Answer[]) => {
      if (error) reject(error);
      // Of an exchange with BEGIN: the statement's own is the last.
      else resolve(Array.isArray(answer) ? (answer.at(-1) as Answer) : (answer as Answer));
    };
    (query as unknown as { callback: typeof settled }).callback = settled;
    client.query(query);
  });
}
