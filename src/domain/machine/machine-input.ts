/** Checks ids, texts and labels where a request comes in. Nothing of a refused request is stored. */
import { invalidField, missingField } from '../error/fault.ts';
import { operationIdOf } from '../v1/run-id.ts';
import type { Labels } from './machine.ts';

const ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/;
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;
const LABEL_KEY = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,251}[A-Za-z0-9])?$/;
export const IMAGE_RULE = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,254}$/;
/** Control characters, line separators, lone surrogates. */
export const CONTROL = /[\p{Cc}\p{Cs}\u2028\u2029]/u;

const MAX_LABEL_BYTES = 64 * 1024;
const MAX_LABEL_VALUE = 4096;

export function isMachineId(id: string): boolean {
  return ID.test(id);
}

export function checkMachineId(id: string, field = 'machine_id'): string {
  if (id === '') throw missingField(field);
  if (isMachineId(id)) return id;
  throw invalidField(
    field,
    'must be 1 to 128 letters, digits, ".", "_" or "-", and begin and end with a letter or digit',
  );
}

/** Takes the spelling of either API and returns the stored one. */
export function checkOperationId(id: string, field = 'operation_id'): string {
  if (id === '') throw missingField(field);
  if (ID.test(id)) return operationIdOf(id);
  throw invalidField(field, field === 'run_id' ? 'is not a run id' : 'is not an operation id');
}

export function checkRequestId(id: string): string {
  if (id === '') throw missingField('request_id');
  if (REQUEST_ID.test(id)) return id;
  throw invalidField('request_id', 'must be 1 to 128 printable ASCII characters without spaces');
}

export function checkImageRef(image: string): string {
  if (image === '' || IMAGE_RULE.test(image)) return image;
  throw invalidField('image_ref', 'must be at most 255 letters, digits, ".", "_", ":", "/", "@" or "-"');
}

/** Text for people: any characters but control characters, up to a length. */
export function checkText(text: string, field: string, maxLength: number): string {
  if (text.length > maxLength) throw invalidField(field, `must be at most ${maxLength} characters`);
  if (CONTROL.test(text)) throw invalidField(field, 'must not contain control characters');
  return text;
}

export function checkLabelName(name: string, field: string): string {
  if (LABEL_KEY.test(name)) return name;
  throw invalidField(field, `a label's name must be 1 to 253 letters, digits, ".", "_", "/" or "-"`);
}

/** Not Buffer, which browsers don't have: the console checks with the same functions. */
const bytesOf = (text: string) => new TextEncoder().encode(text).length;

export function checkLabels(labels: Labels): Labels {
  let bytes = 0;
  for (const [key, value] of Object.entries(labels)) {
    const field = `labels.${CONTROL.test(key) ? JSON.stringify(key) : key.slice(0, 80)}`;
    checkLabelName(key, field);
    checkText(value, field, MAX_LABEL_VALUE);
    bytes += bytesOf(key) + bytesOf(value);
  }
  if (bytes > MAX_LABEL_BYTES) {
    throw invalidField('labels', `are ${bytes} bytes in total; at most ${MAX_LABEL_BYTES} are kept`);
  }
  return labels;
}
