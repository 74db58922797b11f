import { useEffect, useState } from 'react';
import { bytesText } from '../../../../src/domain/agent/metric-text.ts';
import { shellWord } from '../../shell-word.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { TextInput } from '../rollout-draft/text-input.tsx';
import { canDigest, digestOf, MOST_DIGESTED, uploadImage } from './images.ts';

const DIGEST = /^[0-9a-f]{64}$/i;

export function UploadDialog({ onDone, onClose }: { onDone: () => void; onClose: () => void }) {
  const [name, setName] = useState('');
  const [file, setFile] = useState<File | null>(null);
  const [sha256, setSha256] = useState('');
  const [sent, setSent] = useState(0);
  const { notify } = useToasts();
  useEffect(() => {
    if (!file || !canDigest(file)) return;
    let isOver = false;
    void digestOf(file).then((digest) => {
      if (!isOver) setSha256(digest);
    });
    return () => {
      isOver = true;
    };
  }, [file]);
  const missing = missingOf(name, file, sha256);
  return (
    <FormDialog
      title="Add image"
      verb="Upload"
      missing={missing}
      act={async () => {
        if (file)
          await uploadImage({ name: name.trim(), file, sha256: sha256.toLowerCase(), onSent: setSent });
      }}
      onDone={() => {
        notify(`Image ${name.trim()} is added`);
        onDone();
      }}
      onClose={onClose}
      command={`ingot image add ${shellWord(name.trim() || '<name>')} ${shellWord(file?.name ?? '<file>')}`}
    >
      <TextInput title="Name" placeholder="ubuntu-22.04" value={name} onChange={setName} />
      <label className="field">
        <span>Disk image: raw, gzip, xz, zstd or qcow2</span>
        <input
          className="input"
          type="file"
          onChange={(event) => {
            setFile(event.target.files?.[0] ?? null);
            setSha256('');
          }}
        />
      </label>
      <TextInput
        title="SHA-256 digest"
        hint={
          file && !canDigest(file)
            ? `The browser computes it for files up to ${bytesText(MOST_DIGESTED)}. Enter what sha256sum prints.`
            : 'Computed when you choose a file'
        }
        value={sha256}
        onChange={setSha256}
      />
      {sent > 0 && file && <ProgressBar label="Uploaded" percent={(100 * sent) / file.size} tone="blue" />}
    </FormDialog>
  );
}

function missingOf(name: string, file: File | null, sha256: string): string {
  if (name.trim() === '') return 'Enter a name.';
  if (!file) return 'Choose a file.';
  if (file.size === 0) return 'The file is empty.';
  return DIGEST.test(sha256) ? '' : 'Enter the SHA-256 digest of the file.';
}
