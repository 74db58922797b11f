/** The section `netboot` of the configuration file: machines that boot from the network. */
import { z } from 'zod';
import { networkText } from '../../connections/address-networks.ts';
import { checkFilter } from '../../domain/filter/check.ts';
import { MACHINE_FILTER } from '../../domain/filter/machine-filter.ts';
import { parseFilter } from '../../domain/filter/parse.ts';
import type { ApprovalRule } from '../../domain/install/approval-rule.ts';
import type { InstallProfile } from '../../domain/install/install-profile.ts';
import { VERIFICATIONS } from './boot/boot-script.ts';
import { readInstallProfile } from './install-profile-input.ts';
import { PROFILE_NAME } from './node-input.ts';

/** A filter over machines; checked here, so that a wrong one stops the start. */
const machineFilter = z.string().superRefine((text, context) => {
  try {
    checkFilter(parseFilter(text), MACHINE_FILTER);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
  }
});

const workflow = z.unknown().transform((given, context): InstallProfile => {
  try {
    return readInstallProfile(given);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
    return z.NEVER;
  }
});

const macPrefix = z
  .string()
  .regex(
    /^[0-9a-f]{2}(?:[:-][0-9a-f]{2}){0,5}$/i,
    'must be one to six pairs of hex digits with ":" between them',
  )
  .transform((text) => text.toLowerCase().replaceAll('-', ':'));
const factText = z.string().trim().min(1).max(255);

const approvalRule = z
  .strictObject({
    name: z.string().regex(PROFILE_NAME, 'must be 1 to 63 letters, digits, ".", "_" or "-"'),
    mac_prefixes: z.array(macPrefix).max(10_000).default([]),
    vendors: z.array(factText).max(10_000).default([]),
    serial_numbers: z.array(factText).max(100_000).default([]),
    workflow: z.string().regex(PROFILE_NAME, "must be a workflow's name").nullable().default(null),
  })
  .refine(
    (rule) => rule.mac_prefixes.length + rule.vendors.length + rule.serial_numbers.length > 0,
    'needs mac_prefixes, vendors or serial_numbers; a rule for every machine is not one',
  )
  .transform(
    (rule): ApprovalRule => ({
      name: rule.name,
      macPrefixes: rule.mac_prefixes,
      vendors: rule.vendors,
      serialNumbers: rule.serial_numbers,
      profile: rule.workflow ?? '',
    }),
  );

const approvalRules = z.array(approvalRule).superRefine((rules, context) => {
  const names = rules.map(({ name }) => name);
  const repeated = names.findIndex((name, place) => names.indexOf(name) !== place);
  if (repeated >= 0)
    context.addIssue({
      code: 'custom',
      path: [repeated, 'name'],
      message: 'is the name of another rule too',
    });
});

/** Whether unknown machines are taken in when they boot or report: off, on, or from some networks. */
const discovery = z
  .union([
    z.enum(['on', 'off']),
    z.boolean(),
    z.strictObject({
      mode: z.enum(['on', 'off']).default('on'),
      networks: z.array(networkText).min(1).optional(),
    }),
  ])
  .transform((given): Discovery => {
    if (typeof given !== 'object') return { isOn: given === true || given === 'on', networks: null };
    return { isOn: given.mode === 'on', networks: given.networks ?? null };
  });

export interface Discovery {
  readonly isOn: boolean;
  /** Null: everywhere. */
  readonly networks: readonly string[] | null;
}

const serverUrl = z
  .string()
  .regex(/^https?:\/\/[A-Za-z0-9.:[\]-]+$/, 'must be http(s)://host[:port]')
  .nullable()
  .default(null);

/** Machines that match the filter boot from these networks only. */
const bootNetwork = z.strictObject({
  /** Without it, all machines. */
  machines: machineFilter.optional(),
  networks: z.array(networkText).min(1),
});

/** Machines that boot from the network. */
export const netbootConfiguration = z.strictObject({
  /** The URL at which machines reach this server; without it, the one that they used. */
  base_url: serverUrl,
  /** The URL at which BMCs reach it, to read the disc of their virtual drive; without it, base_url. */
  media_url: serverUrl,
  /** The provider of machines that were unknown before they booted; without it, generic. */
  provider: z.string().nullable().default(null),
  boot_token_seconds: z.int().min(60).max(604_800).default(14_400),
  /** How long after an approval, a power cycle or a report of its own a node's installer is served. */
  boot_window_seconds: z.int().min(1).max(31_536_000).default(3_600),
  /** The networks that machines boot from, where they are known; others get no installer. */
  boot_networks: z.array(bootNetwork).default([]),
  /** Whether iPXE verifies the signatures of kernel and initramfs. */
  verify_boot_files: z.enum(VERIFICATIONS).default('supported'),
  discovery: discovery.default({ isOn: true, networks: null }),
  /** Installers that know no boot token: accepted until a boot of the installation was given one. */
  tokenless_reports: z.enum(['accept', 'refuse']).default('accept'),
  /** An installation that reports nothing for this time counts as a failed attempt. */
  stalled_after_seconds: z.int().min(1).max(604_800).default(900),
  /** No more machines than this wait for approval. */
  max_discovered: z.int().min(0).max(1_000_000).default(10_000),
  /** Machines that match one of these filters become active when they are installed. */
  auto_promote: z.array(machineFilter).default([]),
  /** Discovered nodes that match one of these rules are approved automatically. */
  approve: approvalRules.default([]),
  workflows: z.array(workflow).default([]),
});
