/** Install profiles as the API gets them (it calls them workflows), checked strictly: they become kernel command lines. */
import { z } from 'zod';
import { hostProblem } from '../../domain/address/never-connected.ts';
import { DISK_PATTERN, DISK_PICKS, type DiskRule, readDiskSize } from '../../domain/install/disk-rule.ts';
import {
  BUILT_IN_PROFILE,
  CMDLINE_RULE,
  type InstallProfile,
  PLACEHOLDERS,
  POST_INSTALLS,
  unknownPlaceholder,
} from '../../domain/install/install-profile.ts';

import { SEED_PLACEHOLDERS, unknownSeedPlaceholder } from '../../domain/install/seed.ts';
import { IMAGE_RULE } from '../../domain/machine/machine-input.ts';
import { PROFILE_NAME, read } from './node-input.ts';

/** No part starts with a dot, so that no path leaves its root. */
const BOOT_PATH = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;
const PLAIN_URL = /^https?:\/\/[A-Za-z0-9.:[\]-]+(?:\/[A-Za-z0-9._~%+/=&?,:@-]*)?$/;

/** Machines fetch it, from inside the network of the server. */
const isReachableUrl = (text: string) => !URL.canParse(text) || hostProblem(new URL(text).hostname) === null;

const isPlainUrl = (text: string) =>
  PLAIN_URL.test(text) && URL.canParse(text) && new URL(text).username === '';

const bootFile = z
  .string()
  .max(512)
  .refine(
    (text) => BOOT_PATH.test(text) || isPlainUrl(text),
    'must be a path below the boot files, or an http(s) URL without credentials',
  )
  .refine(isReachableUrl, 'has an address that is never connected to');

const cmdline = z
  .string()
  .max(2048)
  .refine((text) => CMDLINE_RULE.test(text), 'must be one line without quotes, backslashes, "$" or "#"')
  .superRefine((text, context) => {
    const unknown = unknownPlaceholder(text);
    if (unknown === null) return;
    context.addIssue({
      code: 'custom',
      message: `${unknown} is not a placeholder; there are ${PLACEHOLDERS.map((name) => `{${name}}`).join(', ')}`,
    });
  });

const image = z.union(
  [
    z.strictObject({ name: z.string().regex(IMAGE_RULE, "must be an image's name") }),
    z.strictObject({
      url: z
        .string()
        .max(1024)
        .refine(isPlainUrl, 'must be an http(s) URL without credentials')
        .refine(isReachableUrl, 'has an address that is never connected to'),
      sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits'),
      size_bytes: z.int().min(1),
    }),
  ],
  'must have a name, or a url with its sha256 and size_bytes',
);

const diskPattern = z
  .string()
  .regex(
    DISK_PATTERN,
    'must be 1 to 80 letters, digits, spaces and signs as disks print them; * and ? stand for what may differ',
  );

const diskSize = z.union([z.int().min(1), z.string()], 'must be a size').transform((given, context) => {
  const bytes = typeof given === 'number' ? given : readDiskSize(given);
  if (bytes !== null) return bytes;
  context.addIssue({ code: 'custom', message: 'must be bytes, or a size such as 480G or 1.5T' });
  return z.NEVER;
});

const disk = z
  .strictObject({
    pick: z.enum(DISK_PICKS).default('first'),
    model: diskPattern.optional(),
    serial: diskPattern.optional(),
    min_size: diskSize.optional(),
    max_size: diskSize.optional(),
    usb: z.boolean().default(false),
  })
  .refine(({ min_size: min = 0, max_size: max = Number.POSITIVE_INFINITY }) => min <= max, {
    path: ['min_size'],
    message: 'is more than max_size',
  })
  .transform(
    (given): DiskRule => ({
      pick: given.pick,
      model: given.model ?? '',
      serial: given.serial ?? '',
      minBytes: given.min_size ?? null,
      maxBytes: given.max_size ?? null,
      usb: given.usb,
    }),
  );

/** More than any cloud allows, and small enough for a small partition. */
const MAX_SEED_BYTES = 256 * 1024;

const seedText = z
  .string()
  .refine((text) => !/[\0\p{Cs}]/u.test(text), 'must be text')
  .refine((text) => Buffer.byteLength(text) <= MAX_SEED_BYTES, 'must be at most 256 KiB')
  .superRefine((text, context) => {
    const unknown = unknownSeedPlaceholder(text);
    if (unknown === null) return;
    context.addIssue({
      code: 'custom',
      // Does not quote the text: it may be part of a secret.
      message: `has a placeholder that there is not; there are ${SEED_PLACEHOLDERS.map((name) => `{{ingot.${name}}}`).join(', ')}`,
    });
  });

const schema = z.strictObject({
  name: z.string().regex(PROFILE_NAME, 'must be 1 to 63 letters, digits, ".", "_" or "-"'),
  description: z.string().max(500).default(''),
  kernel: bootFile.default(BUILT_IN_PROFILE.kernel),
  initrd: bootFile.default(BUILT_IN_PROFILE.initrd),
  cmdline: cmdline.default(BUILT_IN_PROFILE.cmdline),
  image: image.nullish(),
  post_install: z.enum(POST_INSTALLS).default('reboot'),
  disk: disk.nullish(),
  user_data: seedText.nullish(),
  network_config: seedText.nullish(),
});

/** The body that stores one; the documentation of the routes shows the same schema. */
export const INSTALL_PROFILE_BODY = schema.refine(
  ({ user_data, network_config }) => !network_config || user_data,
  {
    path: ['network_config'],
    message: 'goes with user_data only; "#cloud-config" alone is enough',
  },
);

export function readInstallProfile(body: unknown): InstallProfile {
  const {
    image: given,
    post_install: postInstall,
    user_data,
    network_config,
    ...rest
  } = read(INSTALL_PROFILE_BODY, body);
  return {
    ...rest,
    postInstall,
    image: given ? imageOf(given) : null,
    disk: rest.disk ?? null,
    userData: user_data ?? '',
    networkConfig: network_config ?? '',
  };
}

function imageOf(given: z.output<typeof image>): InstallProfile['image'] {
  if ('name' in given) return given;
  return { url: given.url, sha256: given.sha256, sizeBytes: given.size_bytes };
}

/** An install profile as the API shows it. User data is for those who may store it. */
export function installProfileBody(profile: InstallProfile, userDataIs: 'shown' | 'hidden') {
  const { postInstall, image: kept, disk: rule, userData, networkConfig, ...rest } = profile;
  const shown =
    kept === null || 'name' in kept
      ? kept
      : { url: kept.url, sha256: kept.sha256, size_bytes: kept.sizeBytes };
  const secret = (text: string) => (text === '' || userDataIs === 'hidden' ? null : text);
  return {
    ...rest,
    image: shown,
    post_install: postInstall,
    disk: rule === null ? null : diskText(rule),
    has_user_data: userData !== '',
    user_data: secret(userData),
    network_config: secret(networkConfig),
  };
}

function diskText({ pick, model, serial, minBytes, maxBytes, usb }: DiskRule) {
  return {
    pick,
    ...(model !== '' && { model }),
    ...(serial !== '' && { serial }),
    ...(minBytes !== null && { min_size: minBytes }),
    ...(maxBytes !== null && { max_size: maxBytes }),
    usb,
  };
}
