import { Command } from 'commander';
import type { Plan } from '../../../gen/baremetal/v1/plan_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { pagesOf } from '../../connection/pages.ts';
import { addListing, addOutput, addReason } from '../../input/options.ts';
import { readPlan } from '../../input/plan-file.ts';
import { fileSource, withPlaces } from '../../input/yaml-file.ts';
import { type OutputFormat, writeOne } from '../../output/format.ts';
import { askedFor, type ListingOptions, writeListing } from '../../output/listing.ts';
import { plainText } from '../../output/plain-text.ts';
import { PLANS, writePlanDetail } from '../../rendering/plan-rendering.ts';

export function planGroup(context: CommandContext): Command {
  return new Command('plan')
    .description('All commands of plans: the steps of runs')
    .addCommand(showPlan(context), { isDefault: true })
    .addCommand(listPlans(context))
    .addCommand(createPlan(context));
}

function listPlans(context: CommandContext): Command {
  const command = new Command('list').description('List plans, the default ones first');
  return addListing(command, PLANS).action(
    context.action<ListingOptions>(async ({ options, api }) => {
      const pages = pagesOf(async (page) => {
        const { plans, nextPageToken } = await api.plans.listPlans(page);
        return { items: plans, nextPageToken };
      }, askedFor(options));
      return writeListing(context, options, PLANS, pages, 'no plans yet');
    }),
  );
}

function showPlan(context: CommandContext): Command {
  const command = new Command('show')
    .alias('get')
    .description('Show one plan with its steps, timeouts and retries')
    .argument('<plan-id>');
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ args: [planId = ''], options, api }) => {
      writePlan(context, options.output, await api.plans.getPlan({ planId }));
      return 'ok';
    }),
  );
}

const SAMPLE = `
A plan file is YAML or JSON:

  plan_id: plan-repave-ubuntu-2204-v1
  display_name: Repave Ubuntu 22.04
  steps:
    - name: set-netboot
      timeout_seconds: 60   # optional
      max_retries: 2        # optional
      netboot: {mode: PXE}  # or ssh, reboot, repave, join, verify, net, rma
    - name: repave-os
      repave: {image: ubuntu-22.04}`;

function createPlan(context: CommandContext): Command {
  const command = new Command('create')
    .description('Store a plan from a file; one that no run has used yet is replaced (admin)')
    .requiredOption('-f, --file <path>', 'the plan, as YAML or JSON; - reads it from stdin')
    .addHelpText(
      'after',
      `${SAMPLE}\n\nTo start from one that exists: ${context.program} plan show default-repave -o yaml`,
    );
  return addOutput(addReason(command)).action(
    context.action<{ output: OutputFormat; file: string }>(async ({ options, api }) => {
      const path = context.pathOf(options.file);
      const { plan: written, file } = await readPlan(fileSource(options.file, path, context.stdin));
      const { planId, displayName, steps, defaultFor } = written;
      // The output of `plan show` has default_for, which only the server sets.
      if (defaultFor !== '') context.err.line('default_for is set by the server; ignored');
      const plan = { planId, displayName, steps };
      const stored = await api.admin.createPlan({ plan }).catch((error: unknown) => {
        throw withPlaces(error, file, 'plan');
      });
      context.err.line(`stored ${plainText(stored.planId)}`);
      writePlan(context, options.output, stored);
      return 'ok';
    }),
  );
}

function writePlan(context: CommandContext, output: OutputFormat, plan: Plan): void {
  writeOne(context.out, output, PLANS, plan, () => writePlanDetail(context.out, plan));
}
