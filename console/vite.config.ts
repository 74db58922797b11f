import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Paths that the server handles; all others are pages of the console. */
const SERVER_PATHS = '^/(api/|auth/|boot/|healthz|readyz|baremetal\\.)';

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2023',
    // The server's Content-Security-Policy allows scripts and images from files only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_000,
  },
  server: {
    host: '127.0.0.1',
    proxy: { [SERVER_PATHS]: { target: process.env.INGOT_HTTP_URL ?? 'http://127.0.0.1:8080' } },
  },
});
