/** The tables that let the program start with one command instead of all agree with the commands and the services. */
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { CommandContext } from '../../src/cli/command-context.ts';
import { commandTree, treeFor } from '../../src/cli/command-tree.ts';
import { ALIASES, COMMANDS } from '../../src/cli/commands.ts';
import { STREAMING_METHODS } from '../../src/cli/connection/grpc-client.ts';
import { extraCommands } from '../../src/cli/program.ts';
import { AdminService } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { ConsoleService } from '../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { RolloutService } from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { MachineService as V1MachineService } from '../../src/gen/baremetal/v1/machine_service_pb.ts';
import { PlanService } from '../../src/gen/baremetal/v1/plan_service_pb.ts';
import { RunService } from '../../src/gen/baremetal/v1/run_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { loadExtra } from '../../src/main.ts';

const context = () =>
  new CommandContext({
    program: 'ingot',
    env: {},
    cwd: '/',
    signals: process,
    now: () => 0,
    newRequestId: () => '',
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
  });
const extra = extraCommands('ingot', loadExtra);

describe('a command at the top', () => {
  it.each(Object.values(COMMANDS).flatMap((commands) => Object.entries(commands)))(
    '%s has the name under which it is found',
    async (name, load) => {
      const command = (await load())(context());
      const aliases = Object.keys(ALIASES).filter((alias) => ALIASES[alias] === name);
      expect([command.name(), ...command.aliases()]).toEqual([name, ...aliases]);
    },
  );

  it.each(Object.entries(extra))('%s, which is no client, too', async (name, load) => {
    expect((await load()).name).toBe(name);
  });
});

describe('the tree', () => {
  const namesFor = async (...argv: readonly string[]) =>
    (await treeFor(context(), extra, argv)).commands.map((command) => command.name());

  it('has the one command that is typed, behind options of the program too', async () => {
    expect(await namesFor('list', '--help')).toEqual(['list']);
    expect(await namesFor('--server', 'host:1', '--profile=x', 'operation', 'show')).toEqual(['op']);
    expect(await namesFor('serve')).toEqual(['serve']);
    expect(await namesFor('--token-file', 'list', 'version')).toEqual(['version']);
  });

  it('has all commands where none or an unknown one is typed', async () => {
    const all = (await commandTree(context(), extra)).commands.map((command) => command.name());
    expect(all.length).toBeGreaterThan(40);
    for (const argv of [
      [],
      ['--help'],
      ['help', 'list'],
      ['lst'],
      ['completion'],
      ['toString'],
      ['--server'],
    ])
      expect(await namesFor(...argv)).toEqual(all);
  });
});

it('the client knows which methods are streams', () => {
  const services = [
    MachineService,
    OperationService,
    V1MachineService,
    PlanService,
    RunService,
    AdminService,
    FleetService,
    RolloutService,
    ConsoleService,
  ];
  const methods = services.flatMap((service) => [...service.methods]);
  const streams = methods
    .filter(({ methodKind }) => methodKind !== 'unary')
    .map(({ localName }) => localName);
  expect(streams.toSorted()).toEqual([...STREAMING_METHODS].toSorted());
  const unary = methods.filter(({ methodKind }) => methodKind === 'unary').map(({ localName }) => localName);
  expect(unary.filter((name) => STREAMING_METHODS.has(name))).toEqual([]);
});
