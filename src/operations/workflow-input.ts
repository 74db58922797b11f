/** Workflows as somebody writes them, checked to the last character: what is in them ends up on a kernel's command line. */
import { z } from 'zod';
import { IMAGE_RULE } from '../domain/machine-input.ts';
import {
  BUILT_IN_WORKFLOW,
  CMDLINE_RULE,
  PLACEHOLDERS,
  POST_INSTALLS,
  unknownPlaceholder,
  type Workflow,
} from '../domain/workflow.ts';
import { read, WORKFLOW_NAME } from './node-input.ts';

/** Without a dot at the beginning of a part, so that no path leads out of its root. */
const BOOT_PATH = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;
const PLAIN_URL = /^https?:\/\/[A-Za-z0-9.:[\]-]+(?:\/[A-Za-z0-9._~%+/=&?,:@-]*)?$/;

const isPlainUrl = (text: string) =>
  PLAIN_URL.test(text) && URL.canParse(text) && new URL(text).username === '';

const bootFile = z
  .string()
  .max(512)
  .refine(
    (text) => BOOT_PATH.test(text) || isPlainUrl(text),
    'must be a path below the boot files, or an http(s) URL without credentials',
  );

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
    z.strictObject({ name: z.string().regex(IMAGE_RULE, 'must be an image’s name') }),
    z.strictObject({
      url: z.string().max(1024).refine(isPlainUrl, 'must be an http(s) URL without credentials'),
      sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits'),
      size_bytes: z.int().min(1),
    }),
  ],
  'must have a name, or a url with its sha256 and size_bytes',
);

const schema = z.strictObject({
  name: z.string().regex(WORKFLOW_NAME, 'must be 1 to 63 letters, digits, ".", "_" or "-"'),
  description: z.string().max(500).default(''),
  kernel: bootFile.default(BUILT_IN_WORKFLOW.kernel),
  initrd: bootFile.default(BUILT_IN_WORKFLOW.initrd),
  cmdline: cmdline.default(BUILT_IN_WORKFLOW.cmdline),
  image: image.nullish(),
  post_install: z.enum(POST_INSTALLS).default('reboot'),
});

export function readWorkflow(body: unknown): Workflow {
  const { image: given, post_install: postInstall, ...rest } = read(schema, body);
  return { ...rest, postInstall, image: given ? imageOf(given) : null };
}

function imageOf(given: z.output<typeof image>): Workflow['image'] {
  if ('name' in given) return given;
  return { url: given.url, sha256: given.sha256, sizeBytes: given.size_bytes };
}

/** The other way round: as it is shown. */
export function workflowText({ postInstall, image: kept, ...rest }: Workflow) {
  const shown =
    kept === null || 'name' in kept
      ? kept
      : { url: kept.url, sha256: kept.sha256, size_bytes: kept.sizeBytes };
  return { ...rest, image: shown, post_install: postInstall };
}
