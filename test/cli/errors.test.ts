import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { WireFault } from './fake-server.ts';
import { launch, useFakeServer } from './harness.ts';

const cli = useFakeServer();

interface Refusal {
  readonly code: status;
  readonly reason: string;
  readonly message?: string;
  readonly metadata?: Record<string, string>;
  readonly line?: string;
  readonly exit: number;
  readonly says: readonly string[];
}

const machine = { machine_id: 'machine-1' };
const { FAILED_PRECONDITION, INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS } = status;

const RUN = 'run start machine-1 --type REPAVE --no-wait';

const REFUSALS: readonly Refusal[] = [
  {
    code: FAILED_PRECONDITION,
    reason: 'BMC_CALL_FAILED',
    message: 'the BMC bmc-1:443 is no Redfish service: it redirects /redfish/v1/',
    metadata: {
      ...machine,
      code: 'NOT_REDFISH',
      check: 'correct spec.bmc_endpoint, or enable Redfish on the BMC',
    },
    exit: 5,
    says: [
      'error: the BMC bmc-1:443 is no Redfish service: it redirects /redfish/v1/ [BMC_CALL_FAILED]',
      '  NOT_REDFISH: correct spec.bmc_endpoint, or enable Redfish on the BMC',
      '  fix: ingot show machine-1',
    ],
  },
  {
    code: FAILED_PRECONDITION,
    reason: 'WRONG_PHASE',
    metadata: { ...machine, phase: 'READY', allowed: 'MAINTENANCE', type: 'REIMAGE' },
    exit: 5,
    says: [
      'error: machine-1 is READY; REIMAGE needs MAINTENANCE [WRONG_PHASE]',
      '  fix: ingot enter-maintenance machine-1',
    ],
  },
  {
    code: FAILED_PRECONDITION,
    reason: 'WRONG_PHASE',
    metadata: { ...machine, phase: 'FACTORY_READY', allowed: 'READY,MAINTENANCE', type: 'REBOOT' },
    exit: 5,
    says: ['error: machine-1 is FACTORY_READY; REBOOT needs READY or MAINTENANCE [WRONG_PHASE]'],
  },
  {
    code: FAILED_PRECONDITION,
    reason: 'OPERATION_ACTIVE',
    metadata: { ...machine, operation_id: 'op-7' },
    exit: 5,
    says: ['[OPERATION_ACTIVE]', '  fix: ingot op watch op-7', '  fix: ingot cancel op-7'],
  },
  {
    code: FAILED_PRECONDITION,
    reason: 'OPERATION_FINISHED',
    metadata: { operation_id: 'op-7' },
    exit: 5,
    says: ['  fix: ingot op show op-7'],
  },
  {
    code: FAILED_PRECONDITION,
    reason: 'MACHINE_BLOCKED',
    metadata: { ...machine, flag: 'RMA' },
    exit: 5,
    says: ['  fix: ingot unflag machine-1 rma --reason "…"'],
  },
  {
    code: ALREADY_EXISTS,
    reason: 'REQUEST_ID_REUSED',
    exit: 5,
    says: ['  fix: give another --request-id'],
  },
  {
    code: INVALID_ARGUMENT,
    reason: 'MISSING_FIELD',
    exit: 64,
    says: ['error: as the server says [MISSING_FIELD]'],
  },
  { code: INVALID_ARGUMENT, reason: 'INVALID_FILTER', exit: 64, says: ['[INVALID_FILTER]'] },
  {
    code: INVALID_ARGUMENT,
    reason: 'INVALID_FIELD',
    message: 'type: must be one of REPAVE, RMA',
    line: RUN,
    exit: 64,
    says: ['error: type: must be one of REPAVE, RMA [INVALID_FIELD]'],
  },
  { code: NOT_FOUND, reason: 'PLAN_NOT_FOUND', line: RUN, exit: 1, says: ['  fix: ingot plan list'] },
  {
    code: FAILED_PRECONDITION,
    reason: 'CAPABILITY_MISSING',
    metadata: { step: 'set-netboot', capability: 'netboot', provider: 'cloud' },
    line: RUN,
    exit: 5,
    says: [
      '  fix: name a plan without set-netboot (--plan), or a machine whose provider has netboot; cloud has not',
      '  fix: ingot plan list',
    ],
  },
  {
    code: FAILED_PRECONDITION,
    reason: 'NO_TARGET_CLUSTER',
    metadata: machine,
    line: RUN,
    exit: 5,
    says: ['  fix: ingot update machine-1 --cluster <name>'],
  },
  {
    code: FAILED_PRECONDITION,
    reason: 'PLAN_REFERENCED',
    metadata: { plan_id: 'plan-7' },
    exit: 5,
    says: ['  fix: use a new plan_id', '  fix: ingot plan show plan-7'],
  },
  {
    code: FAILED_PRECONDITION,
    reason: 'OPERATION_ACTIVE',
    metadata: { ...machine, operation_id: 'op-7' },
    line: RUN,
    exit: 5,
    says: ['  fix: ingot run attach op-7', '  fix: ingot run cancel op-7'],
  },
  {
    code: NOT_FOUND,
    reason: 'OPERATION_NOT_FOUND',
    line: 'run show r',
    exit: 1,
    says: ['  fix: ingot run list'],
  },
  { code: NOT_FOUND, reason: 'MACHINE_NOT_FOUND', exit: 1, says: ['  fix: ingot list'] },
  { code: NOT_FOUND, reason: 'OPERATION_NOT_FOUND', exit: 1, says: ['  fix: ingot ops'] },
  { code: ALREADY_EXISTS, reason: 'TOKEN_NAME_TAKEN', exit: 5, says: ['  fix: ingot token list'] },
  {
    code: status.UNAUTHENTICATED,
    reason: 'UNAUTHENTICATED',
    exit: 4,
    says: ['  fix: set INGOT_TOKEN or --token-file', '(token from: INGOT_TOKEN)'],
  },
  {
    code: status.PERMISSION_DENIED,
    reason: 'PERMISSION_DENIED',
    exit: 4,
    says: ['ingot token create <name> --role'],
  },
  {
    code: status.INTERNAL,
    reason: 'INTERNAL',
    metadata: { request_id: 'req-9' },
    exit: 1,
    says: ['error: as the server says (request id req-9) [INTERNAL]'],
  },
  {
    code: status.RESOURCE_EXHAUSTED,
    reason: 'SOMETHING_NEW',
    exit: 1,
    says: ['error: as the server says [SOMETHING_NEW]'],
  },
];

describe('a refusal by the server', () => {
  it.each(REFUSALS)('$reason exits $exit', async (refusal) => {
    const { code, reason, metadata, exit, says, message = 'as the server says' } = refusal;
    cli.fleet.onCall = () => {
      throw new WireFault(code, message, {
        reason,
        ...(metadata === undefined ? {} : { metadata }),
      });
    };
    const run = await cli.run(refusal.line ?? 'reimage machine-1 --no-wait');
    for (const text of says) expect(run.stderr).toContain(text);
    expect(run.stdout).toBe('');
    expect(run.code).toBe(exit);
  });

  it('without details is reported with its code', async () => {
    cli.fleet.onCall = () => {
      throw new WireFault(status.UNIMPLEMENTED, 'not here');
    };
    expect(await cli.run('list')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: not here [UNIMPLEMENTED]\n',
    });
  });

  it('can’t send control codes to the terminal', async () => {
    cli.fleet.onCall = () => {
      throw new WireFault(status.INTERNAL, 'evil \u001b]0;title\u0007 \u009b31m');
    };
    expect((await cli.run('list')).stderr).toBe('error: evil \\x1b]0;title\\x07 \\x9b31m [INTERNAL]\n');
  });
});

it('a verb with a wrong letter is suggested, though it is taken for an id', async () => {
  const { code, stderr } = await cli.run('machine lsit');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('  did you mean: ingot machine list\n'),
  });
  expect((await cli.run('machine web-7')).stderr).not.toContain('did you mean');
});

describe('a server that does not answer', () => {
  it('is named, with the way to start one', async () => {
    const { code, stdout, stderr } = await launch('127.0.0.1:1', 'list').ended;
    expect(stderr).toMatch(
      /^error: no server answers at 127\.0\.0\.1:1 \(connection refused: nothing listens there\) \[UNAVAILABLE\]\n/,
    );
    expect(stderr).toContain('  fix: npm start\n');
    expect(stderr).toContain('INGOT_SERVER');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });

  it('on another machine is not one to start here', async () => {
    const { code, stderr } = await launch('nowhere.invalid:1', 'list').ended;
    expect(stderr).toContain('nowhere.invalid:1');
    expect(stderr).not.toContain('npm start');
    expect(code).toBe(1);
  });

  it('leaves a way to ask again without doing the work twice', async () => {
    cli.fleet.addMachine({ machineId: 'machine-1' });
    const { stderr } = await launch('127.0.0.1:1', 'reboot machine-1 --no-wait').ended;
    expect(stderr).toContain('  retry safely: ingot reboot machine-1 --request-id=made-up-id\n');
    const reimaged = await launch('127.0.0.1:1', 'reimage machine-1 --image rhel-9 --yes --no-wait').ended;
    expect(reimaged.stderr).toContain(
      '  retry safely: ingot reimage machine-1 --image rhel-9 --request-id=made-up-id\n',
    );
  });
});

describe('a line typed wrong exits 64 and sends nothing:', () => {
  it.each([
    ['lits', 'Did you mean list?'],
    ['reboot machine-1 --imagee x', 'unknown option'],
    ['list -o xml', 'Allowed choices are table, wide, json, jsonl, yaml, name'],
    ['list --limit 0', 'whole number from 1'],
    ['list --limit 5 --all', 'cannot be used with'],
    ['import', "missing required argument 'N'"],
    ['import -- -1', 'whole number'],
    ['import 100001', 'The maximum is 100000'],
    ['import 2 3', 'too many arguments'],
    ['reboot machine-1 --timeout soon', 'Expected a duration such as 30s'],
    ['reboot machine-1 --timeout 0s', 'Expected a duration such as 30s'],
    ['reboot machine-1 --timeout 8d', 'The maximum is 7d'],
    ['reboot machine-1 --request-id=', 'empty'],
    ['flag machine-1 broken --reason x', 'Allowed choices are rma, retired'],
    ['flag machine-1 rma', "required option '--reason <text>'"],
    ['run start --type RMA', 'which machine?'],
    ['reboot -', '-: there are no ids on stdin'],
    ['machine', 'Usage: ingot machine'],
    ['hardware profile', 'Usage: ingot hardware profile'],
    ['run start machine-1', "required option '--type <type>'"],
    ['run start machine-1 --type REIMAGE', 'REPAVE, RMA, REBOOT, UPGRADE, NET_RECONFIG, JOIN'],
    ['run start machine-1 --type RMA --request-id=', 'empty'],
    ['run start "" --type RMA', 'empty'],
    ['run show', "missing required argument 'run-id'"],
    ['plan create', "required option '-f, --file <path>'"],
    ['token create ci', "required option '--role <role>'"],
    ['update machine-1', 'nothing to change'],
    ['update machine-1 --label a=1 --unlabel a', 'named twice'],
    ['completion tcsh', 'bash, zsh, fish'],
    ['', 'Usage: ingot'],
  ])('%s', async (line, complaint) => {
    const { code, stdout, stderr } = await cli.run(line);
    expect(stderr).toContain(complaint);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(cli.fleet.calls).toEqual([]);
  });
});
