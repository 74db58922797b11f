import { installTestPackages } from '../../scripts/install-test-packages.ts';

/** Before the first test. `npm test` has done it already, beside the static checks. */
export function setup(): void {
  if (process.env.INGOT_TEST_PACKAGES === 'checked') return;
  installTestPackages(process.argv.slice(2).filter((argument) => argument.includes('/')));
}
