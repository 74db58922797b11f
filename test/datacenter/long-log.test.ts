/** A command that prints more than is kept: the log has its first and its last part, and says what is missing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { fresh } from '../api/fleet.ts';
import { newPlan, runEnded, runPhase, startRun, v1Of } from '../api-v1/runs.ts';
import { needs } from '../parts/debian-packages.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { type Sshd, startSshd } from '../parts/sshd.ts';

const programs = needs('sshd');

const LINES = 4_000;

/** Without the zeros that make the lines long. */
const textOf = (data: Uint8Array) =>
  String(Buffer.from(data))
    .replace(/ 0{990}$/m, '')
    .trim();

describe.skipIf(programs.isMissing)(programs.title('a long log'), () => {
  let sshd: Sshd;
  let server: TestServer;

  beforeAll(async () => {
    sshd = await startSshd();
    const configuration = datacenterConfiguration.parse({
      kind: 'datacenter',
      ssh: { user: sshd.user, private_key_file: sshd.keyFile, insecure_accept_any: true },
    });
    server = await startTestServer({ providers: { 'dc-1': configuration } });
  });
  afterAll(async () => {
    await server?.stop();
    await sshd?.stop();
  });

  it('keeps how it started and how it failed', async () => {
    const v1 = v1Of(server);
    const print = `awk 'BEGIN { for (i = 1; i <= ${LINES}; i++) printf "%d %0990d\\n", i, 0 }'`;
    // To the same stream: nothing orders what a host prints to two.
    const command = `${print}; echo 'fatal: no space left on device'; exit 3`;
    const kind = { case: 'ssh', value: { command } } as const;
    const { planId } = await newPlan(server, [{ name: 'go', kind, timeoutSeconds: 120, maxRetries: 0 }]);
    const machineId = fresh('long-log');
    const spec = { provider: 'dc-1', sshEndpoint: sshd.endpoint };
    await server.machines.registerMachine({ machine: { machineId, spec } });
    const { runId } = await startRun(v1, 'REBOOT', machineId, { planId });

    const live: string[] = [];
    for await (const { data } of v1.runs.streamRunLogs({ runId })) live.push(textOf(data));
    expect(runPhase(await runEnded(v1, { runId }))).toBe('FAILED');
    expect([live[1], live.at(-1)]).toEqual(['1', 'fatal: no space left on device']);

    const chunks: { text: string; cursor: string }[] = [];
    for await (const { data, cursor } of v1.runs.streamRunLogs({ runId }))
      chunks.push({ text: textOf(data), cursor });
    const texts = chunks.map(({ text }) => text);
    expect(texts.slice(0, 3)).toEqual([`$ ${command}`, '1', '2']);
    expect(texts.slice(-2)).toEqual([String(LINES), 'fatal: no space left on device']);
    const at = texts.findIndex((text) => text.includes('left out'));
    const [, count = ''] = /^… ([\d,]+) lines \([\d.]+ [kM]B\) left out …$/.exec(texts[at] ?? '') ?? [];
    // The command itself, its lines, the error; the mark is none of them.
    expect(texts.length - 1 + Number(count.replaceAll(',', ''))).toBe(LINES + 2);
    expect(Number(texts[at + 1])).toBe(Number(texts[at - 1]) + Number(count.replaceAll(',', '')) + 1);
    const [stored] = await server.sql<{ bytes: number }>(
      'SELECT sum(octet_length(text) + 1)::int AS bytes FROM operation_logs',
    );
    expect(stored?.bytes).toBeLessThan(1.5 * 1024 * 1024);

    // Resumed before the mark, at it and after it: no line is missing and none comes twice.
    for (const from of [at - 1, at, at + 1]) {
      const rest: string[] = [];
      for await (const { data } of v1.runs.streamRunLogs({ runId, cursor: chunks[from]?.cursor ?? '' }))
        rest.push(textOf(data));
      expect(rest).toEqual(texts.slice(from + 1));
    }
  }, 60_000);
});
