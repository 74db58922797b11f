import { describe, expect, it } from 'vitest';
import { auditKeyOf, newKeyPem } from './audit-key.ts';
import {
  CERTIFICATE_FORMAT,
  certificateJson,
  type EraseDocument,
  NotACertificate,
  signCertificate,
  verifyCertificate,
} from './erase-certificate.ts';

const key = auditKeyOf(newKeyPem());
const DOCUMENT: EraseDocument = {
  format: CERTIFICATE_FORMAT,
  machine: { machine_id: 'm-1', vendor: 'Vendor', model: 'Model', serial_number: 'S1', uuid: '' },
  operation_id: 'op-1',
  requested_by: 'admin:anna',
  erased_by: 'bmc',
  outcome: 'erased',
  drives: [
    {
      name: 'Disk.Bay.0',
      model: 'SSD',
      serial: 'D\u00e9-1',
      size_bytes: 960_197_124_096,
      method: 'bmc-block-erase',
      result: 'erased',
      verified: '',
      not_done: '',
      seconds: 12,
      erased_at: '2026-01-01T00:00:00.000Z',
    },
  ],
  not_touched: [],
  issued_at: '2026-01-01T00:00:01.000Z',
};
const file = certificateJson(signCertificate(DOCUMENT, key));

describe('a certificate of an erasure', () => {
  it('is valid, however its JSON is written', () => {
    const parsed = JSON.parse(file) as { document: object; signature: object };
    const reordered = {
      signature: parsed.signature,
      document: Object.fromEntries(Object.entries(parsed.document).reverse()),
    };
    for (const text of [file, JSON.stringify(parsed), JSON.stringify(reordered, null, 7)])
      expect(verifyCertificate(text)).toEqual({
        document: expect.objectContaining(DOCUMENT),
        keyId: key.keyId,
        problem: null,
      });
  });

  it.each([
    ['another serial number', file.replace('D\u00e9-1', 'De-1')],
    ['another outcome', file.replace('"outcome": "erased"', '"outcome": "partial"')],
    ['a drive less', file.replace(/"drives": \[[^\]]*\]/, '"drives": []')],
    ['a field more', file.replace('"operation_id"', '"approved": true, "operation_id"')],
    ['another time', file.replace('00:00:00.000Z', '00:00:09.000Z')],
  ])('with %s is not', (_what, text) => {
    expect(text).not.toBe(file);
    expect(verifyCertificate(text).problem).toContain('it was changed');
  });

  it('that another key signed names that key', () => {
    const other = auditKeyOf(newKeyPem());
    const forged = certificateJson(signCertificate(DOCUMENT, other));
    expect(verifyCertificate(forged)).toMatchObject({ keyId: other.keyId, problem: null });
    // Its id is that of its key, whatever it says.
    expect(verifyCertificate(forged.replaceAll(other.keyId, key.keyId)).problem).toContain('its own key');
  });

  it.each([
    '',
    '{}',
    '[]',
    'no JSON',
    '{"document":{},"signature":{}}',
    '{"document":{"format":"x"},"signature":{}}',
  ])('%j is not a certificate', (text) => expect(() => verifyCertificate(text)).toThrow(NotACertificate));
});
