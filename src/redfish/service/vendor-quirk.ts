/**
 * Where BMCs differ from the schema and from each other. This table is the only place that knows vendors: what is not in it is
 * found out from the service itself (allowable values, settings objects, action infos).
 */
import type { ExtendedMessage } from '../connection/extended-error.ts';

export interface ServiceIdentity {
  /** Vendor of the service root, or manufacturer of the system. */
  readonly vendor: string;
  readonly product: string;
  /** Id of the manager that provides the service. */
  readonly manager: string;
}

export interface VendorQuirk {
  readonly vendor: string;
  readonly matches: (identity: ServiceIdentity) => boolean;
  /** BootSourceOverrideMode in a change of the boot override: with the mode that is set, or never. */
  readonly bootMode: 'sent' | 'left out';
  /** What the override may last for where the service does not list it. */
  readonly overrideLengths: readonly string[];
  /** What the object of pending settings is called below a resource that does not name it, first choice first. */
  readonly settingsNames: readonly string[];
  /** What If-Match has where the service gives no version: nothing is sent, or any version matches. */
  readonly withoutVersion: 'nothing' | 'any';
  /** How a CD of virtual media is called as a boot source, first choice first. */
  readonly cdTargets: readonly string[];
  /** Systems of the service that are no machines, but boards of the machine: their GPUs are its own. */
  readonly notMachines: RegExp | null;
  /** Entries of the firmware inventory that are not what is installed. */
  readonly otherFirmware: RegExp | null;
  /** How entries of the firmware inventory are known: by name and id, or by the purpose that their description has. */
  readonly firmwareKnownBy: 'name' | 'purpose';
  /** What people call BIOS and BMC where the vendor calls it otherwise: by name, by id, or by what the id ends with. */
  readonly firmwareOf: Readonly<Partial<Record<'BIOS' | 'BMC', RegExp>>>;
  /** Where the version is in what an entry of the firmware inventory has as one; null: it is nothing else. */
  readonly versionIn: RegExp | null;
  /** What an update of firmware names: the entry of the inventory, the resource that it is the firmware of, or nothing. */
  readonly updateTargets: 'component' | 'owner' | 'none';
  /** How a task that waits for a reset is called, by the state of its job or the id of its message, beside TaskState Pending. */
  readonly scheduledTask: RegExp | null;
  /** Values of IndicatorLED that show people which machine it is, and those that do not, first choice first. */
  readonly led: { readonly on: readonly string[]; readonly off: readonly string[] };
  /** Where the web server has the serial console as a WebSocket; null: nowhere. */
  readonly consoleSocket: string | null;
  /** What switches the power limit, which is shown whether or not it counts; null: what is shown counts. */
  readonly powerCap: PowerCapSwitch | null;
  readonly source: string;
}

export interface PowerCapSwitch {
  /** Where the system says it. */
  readonly state: readonly string[];
  /** Where the manager links resources with attributes, and the one that has the switch. */
  readonly links: readonly string[];
  readonly resource: RegExp;
  readonly attributes: { readonly isOn: string; readonly watts: string };
  readonly on: string;
  readonly off: string;
}

const byName = (pattern: RegExp) => (identity: ServiceIdentity) =>
  pattern.test(identity.vendor) || pattern.test(identity.product);

/** What the schema says, for vendors without a row, and for what a row leaves as it is. */
const STANDARD = {
  bootMode: 'sent',
  overrideLengths: ['Once', 'Continuous'],
  settingsNames: ['Settings', 'SD'],
  withoutVersion: 'nothing',
  firmwareKnownBy: 'name',
  firmwareOf: {},
  powerCap: null,
  consoleSocket: null,
  versionIn: null,
  cdTargets: ['Cd', 'UsbCd'],
  notMachines: null,
  otherFirmware: null,
  scheduledTask: null,
  updateTargets: 'component',
  led: { on: ['Blinking', 'Lit'], off: ['Off'] },
} as const;

/** The first row that matches counts. */
const VENDOR_QUIRKS: readonly VendorQuirk[] = [
  {
    ...STANDARD,
    vendor: 'Dell iDRAC',
    matches: byName(/\bDell\b/i),
    otherFirmware: /^(?:Previous|Current|Available)-/,
    scheduledTask: /^Scheduled$|\bJCP001$/,
    updateTargets: 'none',
    led: { on: ['Blinking'], off: ['Lit', 'Off'] },
    firmwareOf: { BMC: /^iDRAC\.Embedded\.\d/ },
    powerCap: {
      state: ['Oem', 'Dell', 'DellSystem', 'PowerCapEnabledState'],
      links: ['Links', 'Oem', 'Dell', 'DellAttributes'],
      resource: /\/System\.Embedded\.\d+$/,
      attributes: { isOn: 'ServerPwr.1.PowerCapSetting', watts: 'ServerPwr.1.PowerCapValue' },
      on: 'Enabled',
      off: 'Disabled',
    },
    source:
      'its BMC is called iDRAC.Embedded, its power limit is shown whether or not the cap is on, and attributes of the manager have the switch (its change was tried on the simulator only), beside what is installed it lists each version that can be gone back to, and its light is lit while all is well: captured from an R750, iDRAC 6.00; the task of a scheduled job reads Starting: dell/iDRAC-Redfish-Scripting; it finds the target of an update in the image: NVIDIA/libredfish',
  },
  {
    ...STANDARD,
    vendor: 'HPE iLO',
    matches: byName(/\bHPE\b|Hewlett/i),
    bootMode: 'left out',
    firmwareOf: { BIOS: /^System ROM$/, BMC: /^iLO \d+$/ },
    source:
      'its firmware is called System ROM and iLO 5: HewlettPackard/PowerShell-ProLiant-SDK #65; BootSourceOverrideMode is read-only: ansible-collections/community.general #3509',
  },
  {
    ...STANDARD,
    vendor: 'Supermicro',
    matches: byName(/Super ?micro/i),
    cdTargets: ['UsbCd', 'Cd'],
    otherFirmware: /^(?:Backup|Golden|Staging|Capsule)_/,
    versionIn: /^BIOS Date: \S+ Ver (\S+)$/,
    updateTargets: 'owner',
    source:
      'beside what runs it lists images that wait or are kept, and the version of its BIOS has the date in it: captured from a SYS-821GE, Redfish 1.11; a change without BootSourceOverrideMode reverts it: DMTF/Redfishtool #106; virtual media boots as UsbCd: openstack/sushy; an update names Bios and Managers: NVIDIA/libredfish',
  },
  {
    ...STANDARD,
    vendor: 'NVIDIA',
    matches: byName(/NVIDIA/i),
    notMachines: /^HGX_/,
    withoutVersion: 'any',
    firmwareOf: { BIOS: /^(?:DPU_)?UEFI$/, BMC: /^(?:FW_BMC_0|BMC_Firmware)$/ },
    source:
      'a BMC of a GB200 or GH200 also lists its HGX baseboard as a system, which has the GPUs, calls its firmware UEFI and FW_BMC_0 (a BlueField: DPU_UEFI and BMC_Firmware), has pending settings at Settings, and wants an If-Match with a change also where there is no version: NVIDIA/libredfish',
  },
  {
    ...STANDARD,
    vendor: 'Lenovo XCC',
    matches: byName(/Lenovo/i),
    overrideLengths: ['Once'],
    settingsNames: ['Pending', 'Settings'],
    otherFirmware: /^BMC-Backup$|-Pending$/,
    firmwareOf: { BIOS: /^UEFI$/, BMC: /^BMC-Primary$/ },
    updateTargets: 'none',
    source:
      'an override is for one boot, and settings wait at Pending: NVIDIA/libredfish; an update names a target only for the backup image of the BMC, which is listed beside the one that runs, BMC-Primary: lenovo/python-redfish-lenovo',
  },
  {
    ...STANDARD,
    vendor: 'AMI MegaRAC',
    matches: byName(/\bAMI\b|American Megatrends|MegaRAC/i),
    settingsNames: ['SD', 'Settings'],
    withoutVersion: 'any',
    notMachines: /^HGX_/,
    firmwareOf: { BIOS: /^HostBIOS_\d$/, BMC: /^HostBMC_\d$/ },
    source:
      'a DGX H100 has a BMC of AMI, which also lists the HGX baseboard as a system, with the GPUs, calls its firmware HostBIOS_0 and HostBMC_0, has pending settings at SD, and wants an If-Match with a change, of any version where there is none: NVIDIA/libredfish (DGX), ansible-collections/community.general #6434',
  },
  {
    ...STANDARD,
    vendor: 'OpenBMC',
    matches: (identity) =>
      byName(/OpenBMC/i)(identity) || (identity.vendor === '' && identity.manager === 'bmc'),
    firmwareKnownBy: 'purpose',
    consoleSocket: '/console0',
    source:
      'the serial console is a WebSocket at /console0, which takes the token of a session: openbmc/bmcweb, features/serial; the service root names no vendor and its manager is called bmc; each image is called "Software Inventory" by the digest of its version, and its description says what it is for: openbmc/bmcweb',
  },
  {
    ...STANDARD,
    vendor: 'any other',
    matches: () => true,
    source: 'DSP0266, DSP2046',
  },
];

export function quirksOf(identity: ServiceIdentity): VendorQuirk {
  const found = VENDOR_QUIRKS.find(({ matches }) => matches(identity));
  if (!found) throw new TypeError('the last row matches everything');
  return found;
}

type MessageMeaning = 'try again' | 'already so';

/** Messages whose status alone says something else. */
const MESSAGE_RULES: ReadonlyArray<{
  readonly id: RegExp;
  readonly means: MessageMeaning;
  readonly source: string;
}> = [
  {
    id: /\.SYS518$|\bSYS518\b/,
    means: 'try again',
    source: 'iDRAC is not ready: openstack/sushy, badfish #129',
  },
  {
    id: /\bServiceTemporarilyUnavailable$|\bServiceInUnknownState$/,
    means: 'try again',
    source: 'Base registry',
  },
  {
    id: /\bSessionLimitExceeded$|\bRAC0218$/,
    means: 'try again',
    source: 'Base registry; iDRAC, with 503 or 400: stmcginnis/gofish #75',
  },
  { id: /\bPSU501\b/, means: 'already so', source: 'On when it is on: dellemc-openmanage #132' },
  { id: /\bNoOperation$/, means: 'already so', source: 'Base registry' },
];

export function messageRule(messages: readonly ExtendedMessage[]): MessageMeaning | null {
  return MESSAGE_RULES.find(({ id }) => messages.some((message) => id.test(message.id)))?.means ?? null;
}

/** Of a login: a service that says with 400 that it has no session left has refused no password. */
export function loginRule(messages: readonly ExtendedMessage[]): MessageMeaning | null {
  const isFull = messages.some(({ id }) => /\bCreateLimitReachedForResource$/.test(id));
  return isFull ? 'try again' : messageRule(messages);
}
