/** The ways to the first machines, for a fleet that is empty. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { METHODS, useForbidden } from '../../identity.tsx';
import '../../styles/start.css';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/command.tsx';
import { Icon } from '../../ui/icon.tsx';
import type { IconName } from '../../ui/icon-paths.ts';
import { PageTitle } from '../../ui/page-title.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { RegisterButton } from '../register/register-button.tsx';
import { registerSimulated, SIMULATED, SIMULATED_RACKS } from './simulated-fleet.ts';

export function StartPage() {
  return (
    <>
      <PageTitle title="Connect machines" />
      <Ways />
    </>
  );
}

/** Also on the page of an empty fleet. */
export function Ways() {
  return (
    <ol className="ways" aria-label="Ways to connect machines">
      <Way icon="star" title="Try it with simulated machines" time="1 minute">
        <p>
          {SIMULATED} machines in {SIMULATED_RACKS} racks that reboot, fail and are reimaged like real ones.
        </p>
        <SimulateButton />
      </Way>
      <Way icon="machines" title="Register machines that you have" time="BMCs, SSH: a list, or one by one">
        <p>
          With the address of their BMC (Redfish, IPMI) or their SSH endpoint. Rows of a spreadsheet will do.
        </p>
        <RegisterButton kind="primary" />
      </Way>
      <Way icon="providers" title="Connect a MAAS" time="5 minutes">
        <p>
          Add it to the server's configuration, with its address and key. Its machines are found from there.
        </p>
        <Command>npm run maas-sim -- --port 5240</Command>
        <Link href="/providers">View providers</Link>
      </Way>
      <Way icon="nodes" title="Boot them from the network" time="PXE or UEFI HTTP">
        <p>Point DHCP at this server. A machine that boots reports its hardware and waits for approval.</p>
        <Command>{`${location.origin}/boot/boot.efi`}</Command>
        <Link href="/nodes">View nodes</Link>
      </Way>
      <Way icon="agents" title="Enrol agents" time="machines that run an OS">
        <p>An agent reports hardware, metrics and keepalives, and makes its machine schedulable in a pool.</p>
        <Command>ingot machine create --pool gpu</Command>
        <Link href="/pools">View pools</Link>
      </Way>
    </ol>
  );
}

interface WayProps {
  readonly icon: IconName;
  readonly title: string;
  /** How long it takes, or what it is for. */
  readonly time: string;
  readonly children: ReactNode;
}

function Way({ icon, title, time, children }: WayProps) {
  return (
    <li className="panel way">
      <h2>
        <Icon name={icon} />
        {title}
      </h2>
      <span className="soft">{time}</span>
      {children}
    </li>
  );
}

function SimulateButton() {
  const forbidden = useForbidden()('operator', METHODS.register);
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const { notify, notifyFailure } = useToasts();
  const add = useMutation({
    mutationFn: registerSimulated,
    onSuccess: () => {
      notify(`Registered ${SIMULATED} simulated machines`);
      void queries.invalidateQueries();
      navigate('/machines');
    },
    onError: (error) => notifyFailure('The simulated machines were not registered', error),
  });
  return (
    <Button
      kind="primary"
      disabledBecause={add.isPending ? 'Request in progress.' : forbidden}
      onClick={() => add.mutate()}
    >
      Add {SIMULATED} simulated machines
    </Button>
  );
}
