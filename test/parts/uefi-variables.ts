/**
 * The variables of a UEFI firmware in QEMU, with one boot option: a URL. It is what a BMC writes for an HTTP boot. The store is that
 * of EDK II: a header, and variables one after the other.
 */
import { readFileSync, writeFileSync } from 'node:fs';

export const FIRMWARE = '/usr/share/OVMF/OVMF_CODE.fd';
export const EMPTY_VARIABLES = '/usr/share/OVMF/OVMF_VARS.fd';

/** EFI_GLOBAL_VARIABLE. */
const GLOBAL = Buffer.from('61dfe48bca93d211aa0d00e098032b8c', 'hex');
const STORE_HEADER_BYTES = 28;
/** Kept over restarts, for boot services and for the system. */
const ATTRIBUTES = 7;
const ACTIVE = 1;

/** Null: no boot option. */
export function writeBootVariables(file: string, url: string | null): void {
  const store = readFileSync(EMPTY_VARIABLES);
  if (url === null) {
    writeFileSync(file, store);
    return;
  }
  const start = store.readUInt16LE(48) + STORE_HEADER_BYTES;
  if (store.readUInt16LE(start) !== 0xffff) throw new Error(`${EMPTY_VARIABLES} has variables already`);
  const first = variable('Boot0000', bootOption('One-time URL', url));
  const second = variable('BootOrder', Buffer.from([0, 0]));
  first.copy(store, start);
  second.copy(store, start + Math.ceil(first.length / 4) * 4);
  writeFileSync(file, store);
}

function variable(name: string, data: Buffer): Buffer {
  const named = Buffer.from(`${name}\0`, 'utf16le');
  const header = Buffer.alloc(60);
  header.writeUInt16LE(0x55aa, 0);
  header.writeUInt8(0x3f, 2);
  header.writeUInt32LE(ATTRIBUTES, 4);
  header.writeUInt32LE(named.length, 36);
  header.writeUInt32LE(data.length, 40);
  GLOBAL.copy(header, 44);
  return Buffer.concat([header, named, data]);
}

/** A URL alone is the short form of a device path: every network card is tried. */
function bootOption(description: string, url: string): Buffer {
  const path = Buffer.concat([node(3, 24, Buffer.from(url)), node(0x7f, 0xff, Buffer.alloc(0))]);
  const head = Buffer.alloc(6);
  head.writeUInt32LE(ACTIVE, 0);
  head.writeUInt16LE(path.length, 4);
  return Buffer.concat([head, Buffer.from(`${description}\0`, 'utf16le'), path]);
}

function node(type: number, subtype: number, content: Buffer): Buffer {
  const head = Buffer.from([type, subtype, 0, 0]);
  head.writeUInt16LE(4 + content.length, 2);
  return Buffer.concat([head, content]);
}
