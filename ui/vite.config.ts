import { defineConfig } from "vite";
import solid from "vite-plugin-solid";

// While developing, `npm run dev` shows the pages and asks a running program for the rest.
const program = process.env.TRUNKLINE ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [solid()],
  server: { proxy: { "/api": { target: program, changeOrigin: true } } },
  build: { target: "es2022", sourcemap: false, modulePreload: { polyfill: false }, assetsInlineLimit: 0 },
  test: { environment: "node", pool: "threads", include: ["src/**/*.test.ts"] },
} as Parameters<typeof defineConfig>[0]);
