/** One connection in front of the parser of HTTP: a request at a time, until it is handed over or ends. */
import type { Socket } from 'node:net';
import type { AgentBearer } from '../../../store/agents/agents.ts';
import { type AfterAnswer, answerText } from './answer-text.ts';
import type { FrontDependencies, FrontOptions } from './keepalive-front.ts';
import { noteRefusedToken } from './refused-tokens.ts';
import { readUsualRequest, type UsualRequest } from './usual-request.ts';

export interface FrontContext extends FrontDependencies, Pick<FrontOptions, 'isCrowded' | 'keepAliveMs'> {
  readonly isClosing: boolean;
  /** The connection is no longer in front. */
  readonly left: (connection: FrontConnection) => void;
  readonly handOver: (socket: Socket) => void;
  /** Half a request was sent, and then the end. */
  readonly refuseHalf: (socket: Socket) => void;
}

const NOTHING = Buffer.alloc(0);

export class FrontConnection {
  readonly #socket: Socket;
  readonly #context: FrontContext;
  /** Not answered yet: a part of a request, or the one under way and what came after it. */
  #received: Buffer = NOTHING;
  /** receiving: a request may be on its way. idle: the last one is answered. */
  #state: 'receiving' | 'answering' | 'idle' | 'left' = 'receiving';
  #since = performance.now();

  constructor(socket: Socket, context: FrontContext) {
    this.#socket = socket;
    this.#context = context;
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('error', this.#onError);
    socket.on('close', this.#onClose);
  }

  check(now: number, patienceMs: number): void {
    if (this.#state === 'receiving' && now - this.#since >= patienceMs) this.#handOver();
    else if (this.#state === 'idle' && now - this.#since >= this.#context.keepAliveMs) this.destroy();
  }

  /** What is under way is still answered. */
  close(): void {
    if (this.#state === 'receiving') this.#handOver();
    else if (this.#state === 'idle') this.destroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#state === 'idle') {
      this.#state = 'receiving';
      this.#since = performance.now();
    }
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    // Sent before the answer to the one before: it waits its turn.
    if (this.#state === 'answering') this.#socket.pause();
    else this.#read();
  };

  readonly #onEnd = (): void => {
    if (this.#state === 'receiving' && this.#received.length > 0) this.#context.refuseHalf(this.#socket);
    else this.#socket.end();
  };

  readonly #onError = (): void => {
    this.#socket.destroy();
  };

  readonly #onClose = (): void => {
    this.#leave();
  };

  #read(): void {
    const request = this.#context.isClosing ? null : readUsualRequest(this.#received);
    if (request === null) this.#handOver();
    else this.#identify(request);
  }

  #identify(request: UsualRequest): void {
    const { tokens } = this.#context;
    const owner = tokens.known(request.authorization);
    if (request.body === null) {
      // A stranger is refused before its body is read.
      if (owner === null) this.#handOver();
      return;
    }
    this.#state = 'answering';
    if (owner !== null) this.#serve(request, owner);
    else
      tokens.owner(request.authorization).then(
        (found) => {
          if (found !== null && found !== 'revoked') this.#serve(request, found);
          else {
            noteRefusedToken(this.#socket, request.authorization, found);
            this.#handOver();
          }
        },
        // The ordinary way meets the same error, and answers it.
        () => this.#handOver(),
      );
  }

  #serve({ body: text, isLast }: UsualRequest, owner: AgentBearer): void {
    const { answer, limits } = this.#context;
    let body: unknown;
    try {
      body = JSON.parse(text ?? '');
      limits.countCallOf(`agent ${owner.machineId}`);
    } catch {
      // Not JSON, or too many calls: the ordinary way finds the same, and answers it.
      this.#handOver();
      return;
    }
    const { length } = this.#received;
    answer({ owner, body, address: this.#socket.remoteAddress ?? '' }, (answered) => {
      if (this.#state !== 'answering') return;
      // An empty part of a chunk would keep all of its memory.
      this.#received = this.#received.length > length ? this.#received.subarray(length) : NOTHING;
      const after = this.#afterAnswer(isLast);
      this.#write(answerText(answered, after, this.#context.keepAliveMs));
      if (after !== 'keep') this.#socket.destroySoon();
      // What a client has not taken yet would be lost when the connection ends as an idle one.
      else if (this.#received.length > 0 || this.#socket.writableLength > 0) this.#handOver();
      else this.#rest();
    });
  }

  #rest(): void {
    this.#state = 'idle';
    this.#since = performance.now();
  }

  #afterAnswer(isLast: boolean): AfterAnswer {
    const { isClosing, isCrowded } = this.#context;
    return isLast || isClosing || isCrowded() ? 'end' : 'keep';
  }

  #write(text: string): void {
    const isPlain = Buffer.byteLength(text) === text.length;
    this.#socket.write(text, isPlain ? 'latin1' : 'utf8');
  }

  /** The socket goes on as if the server had taken it at first, with what was received. */
  #handOver(): void {
    const socket = this.#socket;
    if (this.#state === 'left' || socket.destroyed) return;
    this.#leave();
    socket.off('data', this.#onData);
    socket.off('end', this.#onEnd);
    socket.off('error', this.#onError);
    socket.off('close', this.#onClose);
    // Without a pause, what is put back would be lost before the parser listens.
    socket.pause();
    if (this.#received.length > 0) socket.unshift(this.#received);
    this.#received = NOTHING;
    this.#context.handOver(socket);
    socket.resume();
  }

  #leave(): void {
    this.#state = 'left';
    this.#context.left(this);
  }
}
