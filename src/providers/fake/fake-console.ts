/** The serial console of a fake machine: a login prompt that answers every line. */
import { Readable } from 'node:stream';
import type { SerialConsole } from '../provider.ts';

const KEPT_BYTES = 256 * 1024;

export function createFakeConsole(): SerialConsole {
  return {
    record: false,
    keptBytes: KEPT_BYTES,
    maxRecorded: 0,
    async open({ machineId }, { signal }) {
      signal.throwIfAborted();
      const output = new Readable({ read() {} });
      const prompt = `${machineId} login: `;
      let line = '';
      output.push(`\r\nFake machine ${machineId} ttyS0\r\n\r\n${prompt}`);
      return {
        way: 'a fake console',
        canBreak: true,
        isLeftOpen: false,
        output,
        async write(bytes) {
          for (const character of Buffer.from(bytes).toString('utf8')) {
            if (character !== '\r' && character !== '\n') {
              line += character;
              output.push(character);
              continue;
            }
            output.push(`\r\nyou typed ${line.length} characters: ${line}\r\n${prompt}`);
            line = '';
          }
        },
        async sendBreak() {
          output.push(`\r\nbreak\r\n${prompt}`);
        },
        async close() {
          output.push(null);
        },
      };
    },
  };
}
