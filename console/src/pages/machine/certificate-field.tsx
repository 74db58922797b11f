/** The certificate that the BMC shows now. What is compared with the BMC on site is its fingerprint. */
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { BmcCertificate } from '../../../../src/gen/baremetal/fleet/v1/bmc_service_pb.ts';
import { Failed, Loading } from '../../ui/blank.tsx';
import { Clock } from '../../ui/time.tsx';
import type { FieldProps } from './action-fields.tsx';
import { bmc } from './use-bmc.ts';

export function CertificateField({ machine: { machineId }, value, onChange }: FieldProps) {
  const shown = useQuery({
    queryKey: ['bmc', machineId, 'certificate'],
    queryFn: () => bmc.getBmcCertificate({ machineId }),
    // The one that is trusted is the one that was seen.
    staleTime: 0,
    retry: false,
  });
  const fingerprint = shown.data?.sha256 ?? '';
  useEffect(() => {
    if (fingerprint !== value) onChange(fingerprint);
  }, [fingerprint, value, onChange]);
  if (shown.isPending || (shown.isFetching && !shown.data)) return <Loading />;
  if (shown.isError)
    return (
      <Failed what="The BMC shows no certificate" error={shown.error} onRetry={() => void shown.refetch()} />
    );
  return <CertificateFacts certificate={shown.data} />;
}

function CertificateFacts({ certificate }: { certificate: BmcCertificate }) {
  const { subject, issuer, validFrom, validTo, sha256, verified, pinnedSha256 } = certificate;
  const pinned = pinnedSha256 === '' ? 'None' : pinnedSha256 === sha256 ? 'This one' : pinnedSha256;
  return (
    <dl className="facts">
      <dt>Subject</dt>
      <dd className="wraps">{subject}</dd>
      <dt>Issuer</dt>
      <dd className="wraps">{issuer === subject ? `${issuer} (signed by itself)` : issuer}</dd>
      <dt>Valid</dt>
      <dd>
        <Clock at={validFrom} /> to <Clock at={validTo} />
      </dd>
      <dt>SHA-256</dt>
      <dd className="mono wraps">{(sha256.match(/../g) ?? []).join(':').toUpperCase()}</dd>
      <dt>Authority</dt>
      <dd>{verified ? 'Verified by a trusted one' : 'Not verified by a trusted one: compare the SHA-256'}</dd>
      <dt>Pinned</dt>
      <dd className={pinnedSha256 === '' || pinnedSha256 === sha256 ? 'wraps' : 'wraps fault'}>{pinned}</dd>
    </dl>
  );
}
