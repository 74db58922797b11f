import { expect, it } from 'vitest';
import { sectionsOf, testStub } from './unified-image.fixture.ts';
import { MAX_CMDLINE_BYTES, unifiedImage } from './unified-image.ts';

const stub = testStub();
const sizes = { kernelBytes: 5_000, initrdBytes: 70_001 };

it('has the stub, the command line, the kernel and the initramfs as sections', () => {
  const { head, kernelPadding, initrdPadding, totalBytes } = unifiedImage(stub, 'quiet token=1', sizes);
  const kernel = Buffer.alloc(5_000, 'k');
  const initrd = Buffer.alloc(70_001, 'i');
  const file = Buffer.concat([
    head,
    kernel,
    Buffer.alloc(kernelPadding),
    initrd,
    Buffer.alloc(initrdPadding),
  ]);
  expect(file.length).toBe(totalBytes);
  const sections = sectionsOf(file);
  expect(sections.map(({ name }) => name)).toEqual(['.text', '.cmdline', '.linux', '.initrd']);
  expect(sections[0]?.content).toEqual(sectionsOf(stub)[0]?.content);
  expect(sections[1]?.content.toString()).toBe('quiet token=1\0');
  expect(sections[2]?.content.equals(kernel)).toBe(true);
  expect(sections[3]?.content.equals(initrd)).toBe(true);
  // No section begins before another one ends, in memory.
  for (const [index, { address }] of sections.entries()) {
    const before = sections[index - 1];
    if (before) expect(address).toBeGreaterThanOrEqual(before.address + before.content.length);
    expect(address % 4096).toBe(0);
  }
});

it('is as large whatever the command line is, up to its limit', () => {
  const one = unifiedImage(stub, '', sizes).totalBytes;
  expect(unifiedImage(stub, 'x'.repeat(MAX_CMDLINE_BYTES - 1), sizes).totalBytes).toBe(one);
  expect(() => unifiedImage(stub, 'x'.repeat(MAX_CMDLINE_BYTES), sizes)).toThrow('command line');
});

it('needs a stub that is a program for UEFI and has room for its sections', () => {
  expect(() => unifiedImage(Buffer.from('#!/bin/sh'), '', sizes)).toThrow('no program for UEFI');
  expect(() => unifiedImage(Buffer.alloc(1_000), '', sizes)).toThrow('no program for UEFI');
  expect(() => unifiedImage(testStub(456), '', sizes)).toThrow('no room');
});
