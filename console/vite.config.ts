import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** What the server answers itself; everything else is the console's. */
const SERVED_BY_THE_API = '^/(api/|boot/|healthz|readyz|baremetal\\.)';

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2023',
    // The server's Content-Security-Policy lets scripts and pictures come from files only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_000,
  },
  server: {
    host: '127.0.0.1',
    proxy: { [SERVED_BY_THE_API]: { target: process.env.INGOT_HTTP_URL ?? 'http://127.0.0.1:8080' } },
  },
});
