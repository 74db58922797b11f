import { isIP } from 'node:net';
import { cpus, totalmem } from 'node:os';
import { describe, expect, it } from 'vitest';
import { startMachineFigures } from './machine-figures.ts';
import { findPrivateIp } from './private-ip.ts';

const never = new AbortController().signal;

describe('the figures of this machine', () => {
  it('describe it for a registration, exactly', async () => {
    const figures = await startMachineFigures({ serverHost: '127.0.0.1', privateIp: '10.9.8.7' });
    const hardware = await figures.hardware(never);
    expect(hardware.cpu).toBe(`${cpus().length * 1000}m`);
    expect(hardware.memory).toMatch(/^[1-9]\d*Ki$/);
    // A container may have a smaller memory limit, which Node.js reports.
    expect(Number.parseInt(hardware.memory, 10) * 1024).toBeGreaterThanOrEqual(totalmem() * 0.99);
    expect(hardware.gpu_count).toMatch(/^\d+$/);
    expect(hardware.private_ip).toBe('10.9.8.7');
    expect(hardware.boot_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(hardware.uptime_seconds).toBeGreaterThan(0);
  });

  it('make sense with every keepalive', async () => {
    const figures = await startMachineFigures({ serverHost: '127.0.0.1', privateIp: null });
    const { metrics } = await figures.metrics(never);
    const percent = (value: number | undefined) =>
      expect(value !== undefined && value >= 0 && value <= 100).toBe(true);
    percent(metrics.cpu_utilization_pct);
    percent(metrics.memory_utilization_pct);
    expect(metrics.memory_utilization_pct).toBeGreaterThan(0);
    expect(metrics.total_cpu_available).toBe(cpus().length * 1000);
    expect(metrics.total_memory_available).toBeGreaterThan(100);
    expect(metrics.total_disk_space_bytes).toBeGreaterThan(0);
    expect(metrics.total_disk_free_bytes).toBeLessThanOrEqual(metrics.total_disk_space_bytes ?? 0);
    // What the server checks: whole numbers, and only known metrics that were measured.
    for (const [name, value] of Object.entries(metrics))
      if (!name.endsWith('_pct')) expect(Number.isSafeInteger(value), name).toBe(true);
    for (const name of ['worker_count', 'cache_usage_pct', 'cache_capacity'])
      expect(metrics).not.toHaveProperty(name);
  });

  it('show a machine that works as busier than one that rests', async () => {
    const figures = await startMachineFigures({ serverHost: '127.0.0.1', privateIp: null });
    const until = performance.now() + 400;
    while (performance.now() < until);
    const { metrics } = await figures.metrics(never);
    // One core of all of them was ours; other programs can only add to that.
    expect(metrics.cpu_utilization_pct).toBeGreaterThan(25 / cpus().length);
  });

  it.each(['127.0.0.1', '[::1]', 'localhost', 'name.invalid', '192.0.2.7'])(
    'have an address towards %s',
    async (host) => {
      expect(isIP(await findPrivateIp(host))).toBeGreaterThan(0);
    },
  );
});
