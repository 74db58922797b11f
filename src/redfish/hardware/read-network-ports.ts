/**
 * Network ports of a Redfish service. Adapters of the chassis say what card a port is on; interfaces of the system say which of them the
 * system uses. A port is identified by its MAC address in both.
 */
import type { NicFacts } from '../../domain/install/hardware-inventory.ts';
import { type Fields, fieldsOf, linkOf, listOf, textsOf } from '../connection/answer-fields.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';
import { count, healthOf, isThere, partFields, present, text } from './part-fields.ts';

const MAC = /^[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}$/i;
const NO_MAC = /^(?:00[:-]){5}00$/;

/** Undefined: the service does not say. */
export async function readNetworkPorts(
  service: RedfishService,
  system: Resource,
  chassis: readonly Resource[],
): Promise<NicFacts[] | undefined> {
  const ports = new Map<string, NicFacts>();
  let isKnown = false;
  for (const { fields } of chassis) {
    const path = linkOf(fields.NetworkAdapters);
    const adapters = path === null ? null : await service.resourcesIfThere(path);
    if (adapters === null) continue;
    isKnown = true;
    for (const adapter of adapters) await addAdapter(service, adapter, ports);
  }
  const path = linkOf(system.fields.EthernetInterfaces);
  const interfaces = path === null ? null : await service.resourcesIfThere(path);
  if (interfaces !== null) {
    isKnown = true;
    for (const { fields } of interfaces) addInterface(fields, ports);
  }
  return isKnown ? [...ports.values()] : undefined;
}

async function addAdapter(
  service: RedfishService,
  { fields }: Resource,
  ports: Map<string, NicFacts>,
): Promise<void> {
  const [controller] = listOf(fields.Controllers);
  const {
    slot,
    health: _health,
    ...card
  } = partFields({ ...fields, Location: controller?.Location ?? fields.Location });
  const firmware = card.firmware_version ?? text(controller?.FirmwarePackageVersion);
  // The newer collection first; some services link both, and some answer one of them with nothing.
  for (const link of [fields.Ports, fields.NetworkPorts]) {
    const path = linkOf(link);
    const found = (path === null ? null : await service.resourcesIfThere(path)) ?? [];
    for (const port of found) {
      const facts = portFacts(port.fields);
      for (const address of facts.addresses) {
        const place = [slot, text(port.fields.PortId) ?? text(port.fields.Id)].filter(Boolean).join(' port ');
        const own = { ...card, slot: place, firmware_version: firmware, ...facts.port, mac_address: address };
        ports.set(address, present({ ...own, ...ports.get(address) }));
      }
    }
    if (found.length > 0) return;
  }
}

function portFacts(fields: Fields): { readonly addresses: readonly string[]; readonly port: NicFacts } {
  const ethernet = fieldsOf(fields.Ethernet);
  const lldp = fieldsOf(ethernet.LLDPReceive);
  const addresses = [
    ...textsOf(ethernet.AssociatedMACAddresses),
    ...textsOf(fields.AssociatedNetworkAddresses),
  ].flatMap((address) => macOf(address) ?? []);
  const gigabits = typeof fields.CurrentSpeedGbps === 'number' ? fields.CurrentSpeedGbps * 1000 : undefined;
  return {
    addresses: [...new Set(addresses)],
    port: present({
      speed_mbps: count(fields.CurrentLinkSpeedMbps) ?? count(gigabits),
      link: linkStatus(fields.LinkStatus),
      neighbour: text(lldp.SystemName) ?? text(lldp.ChassisId),
      neighbour_port: text(lldp.PortId),
      health: healthOf(fields),
    }),
  };
}

function addInterface(fields: Fields, ports: Map<string, NicFacts>): void {
  const address = macOf(fields.PermanentMACAddress) ?? macOf(fields.MACAddress);
  if (address === undefined || !isThere(fields)) return;
  const found = present({
    slot: text(fields.Id),
    mac_address: address,
    speed_mbps: count(fields.SpeedMbps),
    link: linkStatus(fields.LinkStatus),
    health: healthOf(fields),
  });
  ports.set(address, { ...found, ...ports.get(address) });
}

function macOf(value: unknown): string | undefined {
  const address = text(value)?.toLowerCase().replaceAll('-', ':');
  return address !== undefined && MAC.test(address) && !NO_MAC.test(address) ? address : undefined;
}

function linkStatus(value: unknown): boolean | undefined {
  const status = text(value);
  if (status === 'LinkUp' || status === 'Up') return true;
  return status === 'LinkDown' || status === 'Down' || status === 'NoLink' ? false : undefined;
}
