/**
 * Which key may sign the next block. The chain has one key at a time, the last in its list. A replica that has another one waits,
 * and takes over with its own when no replica with the chain's key has sealed for a while; the verifier then reports the change. A key that was
 * replaced by its successor never signs again: who still has a copy of it could otherwise go on with the chain.
 */
import type { AuditKey } from '../../audit/audit-key.ts';
import { type ChainKey, keyText } from '../../audit/chain.ts';
import type { Actor } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Session } from '../database/database.ts';
import { recordChange } from '../events/record-change.ts';
import { insertKey, readKeys } from './audit-chain.ts';

/** After this time without the replica that has the chain's key, another one signs with its own. */
export const FOREIGN_KEY_MS = 30_000;
const ACTOR = { kind: 'system', id: 'audit' } as const;

/** The private key, outside of the database. */
export interface KeyKeeper {
  current(): AuditKey;
  /** Reads it again: another process may have replaced it, or this one was stopped while it did. */
  reload(keyId: string): AuditKey;
  /** A new key that is stored, and not used before it is adopted. */
  stage(): AuditKey;
  adopt(key: AuditKey): void;
}

/** The key of this replica; read again where the chain has another one. */
export function ownKey(keys: KeyKeeper, chain: readonly ChainKey[]): AuditKey {
  const current = chain.at(-1);
  const own = keys.current();
  return current === undefined || current.keyId === own.keyId ? own : keys.reload(current.keyId);
}

export interface SigningKeyOptions {
  readonly keys: KeyKeeper;
  readonly now: () => Date;
  readonly monotonicNow: () => number;
  readonly onKeyReplaced: (keyId: string, previousKeyId: string) => void;
  /** This replica has a key that was replaced by its successor. */
  readonly onKeyRetired: (keyId: string, successorId: string) => void;
}

export interface KeyRotation {
  /** The id of the key that is to be replaced. */
  readonly replaces: string;
  readonly actor: Actor;
}

export class SigningKey {
  readonly #options: SigningKeyOptions;
  /** Since when there are events that this replica may not sign. */
  #waitingSince: number | null = null;
  #reported = '';

  constructor(options: SigningKeyOptions) {
    this.#options = options;
  }

  /** Null: another replica signs. */
  async forBlock(session: Session): Promise<AuditKey | null> {
    const chain = await readKeys(session);
    const key = ownKey(this.#options.keys, chain);
    const current = chain.at(-1);
    if (current?.keyId === key.keyId) {
      this.#waitingSince = null;
      return key;
    }
    const now = this.#options.monotonicNow();
    this.#waitingSince ??= now;
    if (current !== undefined && now - this.#waitingSince < FOREIGN_KEY_MS) return null;
    const successor = chain.find((one) => one.previousKeyId === key.keyId && one.signature !== '');
    if (successor) {
      this.#reportRetired(key.keyId, successor.keyId);
      return null;
    }
    // A key that signed earlier signs again; it is in the list already.
    if (chain.some(({ keyId }) => keyId === key.keyId)) return key;
    await this.#takeOver(session, key, current?.keyId ?? '');
    this.#waitingSince = null;
    return key;
  }

  /** Writes the successor of the chain's key, signed by it. It signs the block of the same transaction, and is adopted after that. */
  async successor(session: Session, { replaces, actor }: KeyRotation): Promise<AuditKey> {
    const { keys, now } = this.#options;
    const before = await this.forBlock(session);
    const [current] = (await readKeys(session)).slice(-1);
    if (before === null || current?.keyId !== before.keyId)
      throw new Fault('AUDIT_KEY_ELSEWHERE', {
        message: 'this replica does not have the key that signs the audit chain',
      });
    if (current.keyId !== replaces)
      throw new Fault('AUDIT_KEY_REPLACED', {
        message: `the audit chain is signed by ${current.keyId}, not by ${replaces}`,
        metadata: { key_id: current.keyId },
      });
    const { keyId, publicKey, ...next } = keys.stage();
    const claim = { keyId, publicKey, previousKeyId: before.keyId };
    await insertKey(session, { ...claim, signature: before.sign(keyText(claim)) }, now());
    await recordChange(session, {
      kind: 'audit',
      subject: 'key',
      to: 'rotated',
      actor,
      before: { key_id: before.keyId },
      after: { key_id: keyId },
      metadata: { key_id: keyId, previous_key_id: before.keyId },
    });
    return { keyId, publicKey, ...next };
  }

  #reportRetired(keyId: string, successorId: string): void {
    if (this.#reported === successorId) return;
    this.#reported = successorId;
    this.#options.onKeyRetired(keyId, successorId);
  }

  async #takeOver(session: Session, { keyId, publicKey }: AuditKey, previousKeyId: string): Promise<void> {
    await insertKey(session, { keyId, publicKey, previousKeyId, signature: '' }, this.#options.now());
    if (previousKeyId === '') return;
    this.#options.onKeyReplaced(keyId, previousKeyId);
    await recordChange(session, {
      kind: 'audit',
      subject: 'key',
      to: 'replaced',
      actor: ACTOR,
      comment: 'the key before it did not sign it',
      metadata: { key_id: keyId, previous_key_id: previousKeyId },
    });
  }
}
