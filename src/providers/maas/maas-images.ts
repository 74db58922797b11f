/**
 * Images by their names. "ubuntu/noble" is a release of an operating system, "noble" the same where no other system has a
 * release of that name, "custom/gpu-node" or "gpu-node" an image that someone uploaded to the MAAS. "ubuntu/24.04" is
 * "ubuntu/noble": MAAS is always given the release's name, because before 3.6 it takes no other.
 */
import { StepFailure } from '../../engine/step-handler.ts';
import type {
  MaasControl,
  MaasImage,
  MaasMachine,
  MaasReadCall,
  MaasResource,
} from './client/maas-control.ts';

const IMAGE = /^(?:([A-Za-z0-9][A-Za-z0-9._+-]{0,63})\/)?([A-Za-z0-9][A-Za-z0-9._+-]{0,63})$/;
/** A MAAS may have hundreds. */
const MOST_NAMED = 20;

export function imageText({ osystem, distroSeries }: MaasImage): string {
  return `${osystem}/${distroSeries}`;
}

/** Null: the text can't be the name of one. No osystem: whichever has a release of that name. */
export function parseImage(text: string): (Omit<MaasImage, 'osystem'> & { osystem: string | null }) | null {
  const match = IMAGE.exec(text);
  return match?.[2] === undefined ? null : { osystem: match[1] ?? null, distroSeries: match[2] };
}

/** What is known to be wrong without asking MAAS. */
export function checkImageName(image: string): void {
  if (image === '') {
    throw new StepFailure({ class: 'permanent', code: 'NO_IMAGE', message: 'no image is named' });
  }
  if (parseImage(image)) return;
  const message = `${image} can't be the name of an image in a MAAS: osystem/release, for instance ubuntu/noble`;
  throw new StepFailure({ class: 'permanent', code: 'IMAGE_NOT_FOUND', message });
}

export interface MaasImages {
  /** The image that the machine would get; throws a StepFailure where there is none of that name for it. */
  find(call: MaasReadCall, machine: MaasMachine, image: string): Promise<MaasImage>;
}

export function createMaasImages(name: string, maas: Pick<MaasControl, 'images' | 'site'>): MaasImages {
  return {
    async find(call, machine, image) {
      checkImageName(image);
      const wanted = parseImage(image);
      const listed = await maas.images(call);
      // Whether there is such an image shows when it is deployed.
      if (listed === null)
        return { osystem: maas.site.deploy.osystem, distroSeries: image, ...named(wanted) };
      const suitable = listed.filter((one) => isFor(machine, one));
      const usable = distinct(suitable);
      const found = distinct(
        suitable.filter(
          ({ osystem, distroSeries, version }) =>
            [distroSeries, version].includes(wanted?.distroSeries) &&
            (wanted?.osystem ?? osystem) === osystem,
        ),
      );
      const [only, second] = found;
      if (only && !second) return only;
      if (second) throw ambiguous(name, image, found);
      throw missing(name, image, machine, usable);
    },
  };
}

function named(wanted: ReturnType<typeof parseImage>): Partial<MaasImage> {
  if (!wanted) return {};
  const { osystem, distroSeries } = wanted;
  return osystem === null ? { distroSeries } : { osystem, distroSeries };
}

function isFor(machine: MaasMachine, { architecture }: MaasResource): boolean {
  const [of = ''] = machine.architecture.split('/');
  return architecture === '' || of === '' || architecture === of;
}

/** Whether it is the one that was asked for, as far as MAAS says: "ubuntu/noble". */
export function isImage({ osystem, distroSeries }: MaasImage, asked: string): boolean {
  return distroSeries === '' || asked === imageText({ osystem, distroSeries }) || asked === distroSeries;
}

/** One for every kernel is listed. */
function distinct(images: readonly MaasImage[]): MaasImage[] {
  const byName = new Map(
    images.map(({ osystem, distroSeries }) => [`${osystem}/${distroSeries}`, { osystem, distroSeries }]),
  );
  return [...byName.values()];
}

function ambiguous(name: string, image: string, found: readonly MaasImage[]): StepFailure {
  const message = `${name} has several images of the name ${image}: ${found.map(imageText).join(', ')}`;
  return new StepFailure({ class: 'needs_human', code: 'IMAGE_NOT_FOUND', message });
}

function missing(
  name: string,
  image: string,
  { architecture }: MaasMachine,
  usable: readonly MaasImage[],
): StepFailure {
  const names = usable.map(imageText);
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  const list = names.length === 0 ? 'none at all' : `${names.slice(0, MOST_NAMED).join(', ')}${more}`;
  const message = `${name} has no image ${image} for ${architecture}; it has ${list}`;
  return new StepFailure({ class: 'needs_human', code: 'IMAGE_NOT_FOUND', message });
}
