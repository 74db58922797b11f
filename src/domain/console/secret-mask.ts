/**
 * Hides the secrets that Ingot itself gives a booting machine and that kernels and boot loaders print on the serial console: boot
 * tokens of the command line, and one-time URLs. What comes before a secret is not one, so nothing has to be held back: the mask
 * counts how much of a marker it has seen, and once it has seen all of it, drops what follows up to the end of the word.
 */
const MARKERS = ['ingot.token=', '/boot/once/'].map((marker) => Buffer.from(marker));
const INSTEAD = Buffer.from('***');

export class SecretMask {
  /** How many bytes of each marker the last bytes are. */
  readonly #seen = MARKERS.map(() => 0);
  #isHiding = false;

  hide(bytes: Uint8Array): Uint8Array {
    const shown: Uint8Array[] = [];
    let from = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (this.#isHiding) {
        if (isOfSecret(byte)) {
          from = at + 1;
          continue;
        }
        this.#isHiding = false;
      }
      if (!this.#endsMarker(byte)) continue;
      shown.push(bytes.subarray(from, at + 1), INSTEAD);
      from = at + 1;
      this.#isHiding = true;
    }
    shown.push(bytes.subarray(from));
    return shown.length === 1 ? bytes.subarray(from) : Buffer.concat(shown);
  }

  #endsMarker(byte: number): boolean {
    let ends = false;
    for (const [index, marker] of MARKERS.entries()) {
      const seen = this.#seen[index] ?? 0;
      // No marker repeats its first byte in a way that a new start could be missed.
      const now = byte === marker[seen] ? seen + 1 : byte === marker[0] ? 1 : 0;
      ends ||= now === marker.length;
      this.#seen[index] = now === marker.length ? 0 : now;
    }
    return ends;
  }
}

function isOfSecret(byte: number): boolean {
  return /[A-Za-z0-9_.~-]/.test(String.fromCharCode(byte));
}
