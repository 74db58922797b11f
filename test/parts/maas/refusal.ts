/** A refusal in MAAS' words: text, as most of them, or messages by field. MAAS' middleware.py makes them of exceptions. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown) {
    super('refused');
    this.status = status;
    this.body = body;
  }
}
