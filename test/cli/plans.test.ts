import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { PlanSchema } from '../../src/gen/baremetal/v1/plan_pb.ts';
import { WireFault } from './fake-server.ts';
import { useFakeServer } from './harness.ts';

const cli = useFakeServer();

/** The sample of docs/api-v1.md. */
const SAMPLE = {
  plan_id: 'plan-repave-ubuntu-2204-v1',
  display_name: 'Repave Ubuntu 22.04 + Join Cluster',
  steps: [
    { name: 'set-netboot', timeout_seconds: 60, max_retries: 2, netboot: { mode: 'PXE' } },
    { name: 'repave-os', timeout_seconds: 1800, max_retries: 1, repave: { image: 'ubuntu-22.04' } },
    { name: 'reboot', timeout_seconds: 300, max_retries: 2, reboot: { mode: 'bmc' } },
    { name: 'join-cluster', timeout_seconds: 600, max_retries: 1, join: { cluster_ref: 'cluster-a' } },
    { name: 'verify', timeout_seconds: 300, max_retries: 0, verify: { cluster_ref: 'cluster-a' } },
  ],
};

const YAML = `\
plan_id: net-1
steps:
  - name: apply
    net:
      netplan: |
        network:
          version: 2
  - name: check
    max_retries: 0
    ssh: {command: 'true', repeatable: true}
`;

function written(name: string, text: string): { cwd: string } {
  const cwd = mkdtempSync(join(tmpdir(), 'ingot-plan-'));
  writeFileSync(join(cwd, name), text);
  return { cwd };
}

const sent = () => cli.fleet.calls.filter(({ method }) => method === 'createPlan');

describe('plan create', () => {
  it('takes the sample of docs/api-v1.md, and shows it as it was written', async () => {
    const around = written('plan.json', JSON.stringify(SAMPLE, null, 2));
    const { code, stdout, stderr } = await cli.run('plan create -f plan.json', around);
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'stored plan-repave-ubuntu-2204-v1\n' });
    expect(stdout).toBe(`\
Plan:         plan-repave-ubuntu-2204-v1
Display name: Repave Ubuntu 22.04 + Join Cluster
Default for:  -

1. set-netboot   netboot  timeout 60s    retries 2
   mode: PXE

2. repave-os     repave   timeout 1800s  retries 1
   image: ubuntu-22.04

3. reboot        reboot   timeout 300s   retries 2
   mode: bmc

4. join-cluster  join     timeout 600s   retries 1
   cluster_ref: cluster-a

5. verify        verify   timeout 300s   retries 0
   cluster_ref: cluster-a
`);
    const show = `plan show ${SAMPLE.plan_id}`;
    expect((await cli.run(show)).stdout).toBe(stdout);
    expect((await cli.run(`plan ${SAMPLE.plan_id}`)).stdout).toBe(stdout);
    expect(JSON.parse((await cli.run(`${show} -o json`)).stdout)).toEqual(SAMPLE);
    expect(parse((await cli.run(`${show} -o yaml`)).stdout)).toEqual(SAMPLE);
  });

  it('takes YAML from stdin, and leaves to the server what it does not say', async () => {
    const { code, stdout } = await cli.run('plan create -f -', { input: YAML });
    expect(code).toBe(0);
    const [{ request } = { request: undefined }] = sent();
    expect(request.plan).toMatchObject({
      planId: 'net-1',
      steps: [
        { kind: { case: 'net', value: { netplan: 'network:\n  version: 2\n' } }, timeoutSeconds: 0 },
        { kind: { case: 'ssh', value: { command: 'true', repeatable: true } }, maxRetries: 0 },
      ],
    });
    expect(request.plan.steps[0].maxRetries).toBeUndefined();
    expect(stdout).toContain('   netplan: |\n     network:\n       version: 2\n');
  });

  it('takes what its own help shows', async () => {
    const { stdout } = await cli.run('plan create --help');
    const [, sample = ''] = /is YAML or JSON:\n\n([\s\S]*?)\n\n/.exec(stdout) ?? [];
    expect(await cli.run('plan create -f - -o name', { input: sample })).toMatchObject({
      code: 0,
      stdout: 'plan-repave-ubuntu-2204-v1\n',
    });
  });

  it('of a plan that was shown and edited goes through', async () => {
    cli.fleet.plans.set('a', create(PlanSchema, { planId: 'a', defaultFor: 'REBOOT', steps: [] }));
    const { stdout } = await cli.run('plan show a -o yaml');
    const { code, stderr } = await cli.run('plan create -f -', { input: stdout });
    expect(stderr).toBe('default_for is set by the server; ignored\nstored a\n');
    expect(code).toBe(0);
    expect(sent()[0]?.request.plan.defaultFor).toBe('');
  });

  it('reports every mistake with file and line, exits 64, and sends nothing', async () => {
    const text = `${YAML}  - name: 7\n    netbot: {mode: PXE}\n  - {name: x, reboot: {mode: bmc, hard: true}, ssh: {}}\n`;
    const { code, stdout, stderr } = await cli.run('plan create -f p.yaml', written('p.yaml', text));
    const fields =
      'name, timeout_seconds, max_retries, ssh, reboot, netboot, repave, join, verify, net, rma, cluster, inspect, verify_hardware, media, bios_settings, boot_order, firmware_update, raid, erase_disks, burn_in';
    expect(stderr).toBe(`\
error: p.yaml: 4 mistakes
  p.yaml:11: steps[2].name must be text; put it in quotes
  p.yaml:12: steps[2].netbot: unknown field; the fields are ${fields}
  p.yaml:13: steps[3].reboot.hard: unknown field; the fields are mode
  p.yaml:13: steps[3].ssh: reboot is set already, and only one of them may be
`);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(cli.fleet.calls).toEqual([]);
  });

  it.each([
    ['{\n "plan_id": "a",\n "steps": [\n}', 'stdin:4: '],
    ['plan_id: a\nplan_id: b\n', 'stdin:2: Map keys must be unique'],
    ['plan_id: a\n---\nplan_id: b\n', 'stdin:2: a second YAML document starts here'],
    ['', 'stdin: is empty'],
    ['# nothing\n', 'stdin: is empty'],
    ['- a\n', 'stdin:1: a plan must have fields: plan_id, display_name, steps, default_for'],
    ['steps: none\n', 'stdin:1: steps must be a list'],
    ['steps:\n  - go\n', 'stdin:2: steps[0] must have fields'],
    ['steps:\n  - name: a\n    reboot:\n', 'stdin:3: steps[0].reboot is empty; write {}'],
    ['steps:\n  - timeout_seconds: 1.5\n', 'stdin:2: steps[0].timeout_seconds must be a whole number'],
    ['steps:\n  - timeout_seconds: 9999999999\n', 'stdin:2: steps[0].timeout_seconds must be a whole'],
    ['steps:\n  - ssh: {repeatable: maybe}\n', 'stdin:2: steps[0].ssh.repeatable must be true or false'],
    ['plan_id: *gone\n', 'plan_id'],
    ['plan_id: !!binary x\n', 'stdin:1: '],
    ['"\\e[31m": red\n', 'stdin:1: \\x1b[31m: unknown field'],
    [`plan_id: ${'x'.repeat(1024 * 1024)}`, 'stdin: larger than 1 MiB, the limit for a plan'],
  ])('refuses %j', async (input, complaint) => {
    const { code, stdout, stderr } = await cli.run('plan create -f -', { input });
    expect(stderr).toContain(`error: ${complaint.startsWith('stdin') ? complaint : ''}`);
    expect(stderr).toContain(complaint);
    expect(stderr.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(cli.fleet.calls).toEqual([]);
  });

  it('refuses a file that is not there', async () => {
    const { code, stderr } = await cli.run('plan create -f none.yaml');
    expect(stderr).toContain("error: can't read none.yaml: ENOENT");
    expect(code).toBe(64);
    expect(await cli.run('plan create')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('--file'),
    });
  });

  it('shows the field that the server complains about, and its line', async () => {
    const fieldViolations = [
      { field: 'plan.steps[1].name', description: 'apply is the name of steps[0] too' },
      { field: 'plan.steps[0].net.action', description: 'must be apply or verify' },
    ];
    cli.fleet.onCall = () => {
      const message = 'plan.steps[1].name: apply is the name of steps[0] too';
      throw new WireFault(status.INVALID_ARGUMENT, message, { reason: 'INVALID_FIELD', fieldViolations });
    };
    const { code, stderr } = await cli.run('plan create -f p.yaml', written('p.yaml', YAML));
    expect(stderr).toBe(`\
error: p.yaml:8: plan.steps[1].name: apply is the name of steps[0] too [INVALID_FIELD]
  p.yaml:5: plan.steps[0].net.action: must be apply or verify
`);
    expect(code).toBe(64);
  });
});

describe('plan list', () => {
  it('lists plans, page by page', async () => {
    for (const planId of ['default-reboot', 'b', 'c']) {
      const defaultFor = planId === 'default-reboot' ? 'REBOOT' : '';
      const steps = [{ name: 'one' }, { name: 'two' }];
      cli.fleet.plans.set(
        planId,
        create(PlanSchema, { planId, displayName: `Plan ${planId}`, defaultFor, steps }),
      );
    }
    cli.fleet.pageSize = 2;
    expect((await cli.run('plan list --limit 2')).stdout).toBe(`\
PLAN_ID         DISPLAY_NAME         STEPS  DEFAULT_FOR
default-reboot  Plan default-reboot  2      REBOOT
b               Plan b               2      -
`);
    expect((await cli.run('plan list -o name')).stdout).toBe('default-reboot\nb\nc\n');
    expect((await cli.run('plan list -o wide')).stdout).toContain('one → two\n');
    expect(await cli.run('plan show none')).toMatchObject({
      code: 1,
      stderr: 'error: there is no plan none [PLAN_NOT_FOUND]\n  fix: ingot plan list\n',
    });
  });
});
