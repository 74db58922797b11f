/**
 * The certificate of an erasure: what became of each drive, signed with the key of the audit chain. What is signed is the canonical JSON of the
 * document, so a certificate is verified without the server, however its JSON was written.
 */
import type { DiskErasure, Erasure } from '../domain/install/erasure.ts';
import { type AuditKey, isSignedBy, keyIdOf } from './audit-key.ts';
import { canonicalJson, membersOf, NotJson } from './canonical-json.ts';

export const CERTIFICATE_FORMAT = 'ingot-erase-certificate/1';

/** What a certificate says. The names are those of its JSON. */
export interface EraseDocument {
  readonly format: typeof CERTIFICATE_FORMAT;
  readonly machine: {
    readonly machine_id: string;
    readonly vendor: string;
    readonly model: string;
    readonly serial_number: string;
    readonly uuid: string;
  };
  readonly operation_id: string;
  readonly requested_by: string;
  /** What carried it out. */
  readonly erased_by: 'installer' | 'bmc';
  readonly outcome: Erasure['outcome'];
  readonly drives: ReadonlyArray<DiskErasure & { readonly erased_at: string }>;
  readonly not_touched: Erasure['skipped'];
  readonly issued_at: string;
}

export interface SignedCertificate {
  /** Canonical JSON. */
  readonly document: string;
  readonly keyId: string;
  /** SPKI, base64. */
  readonly publicKey: string;
  readonly signature: string;
}

export function signCertificate(document: EraseDocument, key: AuditKey): SignedCertificate {
  const text = canonicalJson(JSON.stringify(document));
  return { document: text, keyId: key.keyId, publicKey: key.publicKey, signature: key.sign(text) };
}

/** As people keep it in a file. */
export function certificateJson({ document, keyId, publicKey, signature }: SignedCertificate): string {
  const signed = { algorithm: 'Ed25519', key_id: keyId, public_key: publicKey, value: signature };
  return JSON.stringify({ document: JSON.parse(document) as unknown, signature: signed }, null, 2);
}

export class NotACertificate extends Error {}

export interface VerifiedCertificate {
  readonly document: EraseDocument;
  readonly keyId: string;
  /** Why it is not valid; null: it is. */
  readonly problem: string | null;
}

/** Throws NotACertificate for what has no certificate in it. */
export function verifyCertificate(file: string): VerifiedCertificate {
  try {
    const members = membersOf(file);
    const document = members.get('document') ?? '';
    const parts = membersOf(members.get('signature') ?? '');
    const text = (name: string) => textOf(parts.get(name));
    const publicKey = text('public_key');
    const keyId = keyIdOf(publicKey);
    const parsed = JSON.parse(document) as EraseDocument;
    if (parsed.format !== CERTIFICATE_FORMAT)
      throw new NotACertificate(`is not of the format ${CERTIFICATE_FORMAT}`);
    const problem =
      text('algorithm') !== 'Ed25519' || text('key_id') !== keyId
        ? 'its signature does not name its own key'
        : isSignedBy(publicKey, document, text('value'))
          ? null
          : 'its signature is not one of its content: it was changed';
    return { document: parsed, keyId, problem };
  } catch (error) {
    if (error instanceof NotACertificate) throw error;
    if (error instanceof NotJson || error instanceof SyntaxError)
      throw new NotACertificate('is not an erase certificate');
    throw error;
  }
}

function textOf(json: string | undefined): string {
  const value: unknown = json === undefined ? '' : JSON.parse(json);
  return typeof value === 'string' ? value : '';
}
