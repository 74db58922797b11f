import { describe, expect, it } from 'vitest';
import { judgeImage } from './image-format.ts';
import { type Qcow2Sketch, qcow2Head } from './qcow2.fixture.ts';

const judged = (sketch: Qcow2Sketch = {}) => judgeImage(qcow2Head(sketch), 200_000);

describe('an image', () => {
  it.each([
    ['gzip', '1f8b0800'],
    ['xz', 'fd377a585a000004'],
    ['zstd', '28b52ffd24'],
  ])('is %s by its first bytes, and how large its disk is only unpacking says', (format, hex) => {
    expect(judgeImage(Buffer.from(hex, 'hex'), 100)).toEqual({ format, virtualBytes: null });
  });

  it('is raw when it begins like nothing else, even when it is very short', () => {
    expect(judgeImage(Buffer.from([0xeb]), 1)).toEqual({ format: 'raw', virtualBytes: 1 });
    expect(judgeImage(Buffer.alloc(512), 1024)).toEqual({ format: 'raw', virtualBytes: 1024 });
  });

  it('is refused when it is a disk or an archive that no installer unpacks', () => {
    for (const hex of ['4b444d5601000000', '7668647866696c65', '504b0304', '425a6839'])
      expect(judgeImage(Buffer.from(hex, 'hex'), 100)).toMatchObject({
        refused: expect.stringMatching(/^it is an? .* file; an image is raw, gzip, xz, zstd or qcow2$/),
      });
    const vdi = Buffer.alloc(512);
    vdi.write('7f10dabe', 64, 'hex');
    expect(judgeImage(vdi, 512)).toMatchObject({ refused: expect.stringContaining('VDI') });
  });
});

describe('a qcow2 image', () => {
  it('says the size of its disk, in both versions, compressed and with subclusters', () => {
    for (const sketch of [{ version: 2 }, { version: 3 }, { features: 0b11001n }])
      expect(judged({ diskBytes: 2n ** 31n, ...sketch })).toEqual({ format: 'qcow2', virtualBytes: 2 ** 31 });
  });

  it.each([
    ['has a backing file', { backingAt: 512n, backingLength: 11 }, 'with a backing file'],
    ['has the name of a backing file and no place of it', { backingLength: 11 }, 'with a backing file'],
    ['has its data in another file', { features: 0b100n }, 'data is in another file'],
    [
      'names another file for its data after other extensions',
      { extensions: [0xe2792aca, 0x6803f857, 0x44415441] },
      'data is in another file',
    ],
    ['is corrupt', { features: 0b10n }, 'marked as corrupt'],
    ['has features that no one knows', { features: 1n << 40n }, 'not known: 10000000000'],
    ['is encrypted', { encryption: 2 }, 'encrypted'],
    ['is of another version', { version: 1 }, 'version 1'],
    ['describes no disk', { diskBytes: 0n }, "can't be: 0 bytes"],
    ['describes a disk larger than all', { diskBytes: 2n ** 63n }, "can't be"],
    ['has absurd clusters', { clusterBits: 40 }, '2^40'],
  ] satisfies [string, Qcow2Sketch, string][])('is refused when it %s', (_what, sketch, words) => {
    expect(judged(sketch)).toEqual({ refused: expect.stringContaining(words) });
  });

  it('is refused when it is cut off', () => {
    expect(judgeImage(qcow2Head({}).subarray(0, 60), 60)).toMatchObject({
      refused: expect.stringContaining('cut off'),
    });
    expect(judgeImage(qcow2Head({}).subarray(0, 90), 90)).toMatchObject({
      refused: expect.stringContaining('cut off'),
    });
  });
});
