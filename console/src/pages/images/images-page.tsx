/** Disk images that installations write. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { bytesText } from '../../../../src/domain/agent/metric-text.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import { useOfferActions } from '../../keyboard/page-actions.tsx';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { CopyableId } from '../../ui/copyable-id.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age } from '../../ui/time.tsx';
import { type ImageBody, listImages, removeImage } from './images.ts';
import { UploadDialog } from './upload-dialog.tsx';

type OpenDialog = { readonly about: 'upload' } | { readonly about: 'remove'; readonly name: string };

export function ImagesPage() {
  const [dialog, open] = useState<OpenDialog | null>(null);
  const forbidden = useForbidden()('admin', METHODS.changeImages);
  const queries = useQueryClient();
  const list = useQuery({ queryKey: ['images'], queryFn: listImages });
  const upload = () => open({ about: 'upload' });
  const refresh = () => void queries.invalidateQueries({ queryKey: ['images'] });
  const button = (
    <Button kind="primary" disabledBecause={forbidden} onClick={upload}>
      <Icon name="plus" /> Add image
    </Button>
  );
  useOfferActions([{ text: 'Add image', disabledBecause: forbidden, run: upload }]);
  return (
    <>
      <PageTitle title="Images" actions={button} />
      <Panel title="Images" padding="none">
        {list.isPending && <Loading lines={4} />}
        {list.isError && !list.data && (
          <Failed what="Failed to load images" error={list.error} onRetry={() => void list.refetch()} />
        )}
        {list.data?.length === 0 && (
          <Empty title="No images yet">
            <span>An installation over the network writes an image to the disk of a machine.</span>
            {button}
          </Empty>
        )}
        {list.data && list.data.length > 0 && (
          <ImageTable
            images={list.data}
            forbidden={forbidden}
            onRemove={(name) => open({ about: 'remove', name })}
          />
        )}
      </Panel>
      {dialog?.about === 'upload' && <UploadDialog onDone={refresh} onClose={() => open(null)} />}
      {dialog?.about === 'remove' && (
        <FormDialog
          title={`Remove ${dialog.name}?`}
          verb="Remove"
          kind="danger-primary"
          missing=""
          act={() => removeImage(dialog.name)}
          onDone={refresh}
          onClose={() => open(null)}
          command={`ingot image remove ${dialog.name}`}
        >
          <p>Installations that need it fail from then on. Machines that have it are not changed.</p>
        </FormDialog>
      )}
    </>
  );
}

interface ImageTableProps {
  readonly images: readonly ImageBody[];
  readonly forbidden: string;
  readonly onRemove: (name: string) => void;
}

function ImageTable({ images, forbidden, onRemove }: ImageTableProps) {
  return (
    <table className="table">
      <thead>
        <tr>
          <th>Image</th>
          <th>Format</th>
          <th className="number">Size</th>
          <th className="number">Disk</th>
          <th>SHA-256</th>
          <th>Added</th>
          <th>
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {images.map((image) => (
          <tr key={image.name}>
            <td>
              <strong>{image.name}</strong>
            </td>
            <td>{image.format ?? 'unknown'}</td>
            <td className="number">{bytesText(image.size_bytes)}</td>
            <td className="number">
              {image.virtual_size_bytes === null ? '' : bytesText(image.virtual_size_bytes)}
            </td>
            <td>
              <CopyableId id={`sha256-${image.sha256}`} />
            </td>
            <td>
              <Age at={Date.parse(image.created_at)} /> <span className="soft">by {image.created_by}</span>
            </td>
            <td className="number">
              <Button
                kind="quiet"
                label={`Remove ${image.name}`}
                disabledBecause={forbidden}
                onClick={() => onRemove(image.name)}
              >
                Remove
              </Button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
