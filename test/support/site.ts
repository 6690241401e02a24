// Another site than the server under test, which is at `localhost`: an HTTP server at 127.0.0.1.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A running site. */
export interface Site {
  /** Without a path. */
  readonly url: string
  stop(): void
}

/** Starts one on a free port; by default every URL of it has the page of an application. */
export async function startSite(answer: RequestListener = showApplication): Promise<Site> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const showApplication: RequestListener = (_, response) =>
  response
    .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
    .end('<!doctype html><html lang="en"><title>Application</title><p>Back at the application')
