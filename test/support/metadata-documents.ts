// A server that publishes client metadata documents, and a Latchkey whose zone accepts them.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { authorizeBootstrap } from './authorize.ts'
import { startServer } from './server.ts'
import type { ServerOptions, TestServer } from './server.ts'
import { caller } from './zones.ts'

/** The response for a path. */
export interface Published {
  readonly body: unknown
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** The server that publishes the documents. */
export interface DocumentServer {
  /** The id of the client whose document is at the path. */
  id(path: string): string
  /** Publishes the function's result for the id; without one, the document of a plain application. */
  publish(path: string, document?: (id: string) => Published): string
  /** Number of requests for the path. */
  asked(path: string): number
  stop(): void
}

/** The redirect URI: a program on the user's machine. */
export const LOOPBACK_CALLBACK = 'http://127.0.0.1:4321/cb'

/** The document of a plain application. */
export const plainDocument = (id: string, more: Readonly<Record<string, unknown>> = {}) => ({
  client_id: id,
  client_name: 'Helper',
  redirect_uris: [LOOPBACK_CALLBACK],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  ...more,
})

/** Starts it on loopback; names below `localhost` lead there too. */
export async function startDocumentServer(): Promise<DocumentServer> {
  const documents = new Map<string, Published>()
  const counts = new Map<string, number>()
  const server = createServer(({ url = '/' }, answer) => {
    counts.set(url, (counts.get(url) ?? 0) + 1)
    const { body, status = 200, headers = {} } = documents.get(url) ?? { body: 'nothing here', status: 404 }
    answer.writeHead(status, { 'content-type': 'application/json', ...headers })
    answer.end(typeof body === 'string' ? body : JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const origin = `http://localhost:${typeof address === 'object' ? address?.port : ''}`
  const id = (path: string): string => origin + path
  return {
    id,
    publish(path, document = of => ({ body: plainDocument(of) })) {
      documents.set(path, document(id(path)))
      return id(path)
    },
    asked: path => counts.get(path) ?? 0,
    stop: () => void server.close(),
  }
}

/** Enables or disables client metadata documents in a zone. */
export async function takeDocuments(server: TestServer, isOn = true, id = 'svc'): Promise<void> {
  const zone = await server.store.zones.find(id)
  if (!zone) throw new Error(`there is no zone ${id}`)
  const protocols = { ...zone.config.protocols, clientMetadataDocuments: isOn }
  await server.store.zones.update({ ...zone, config: { ...zone.config, protocols } })
}

/** A server whose default zone accepts them. */
export async function startWithClientDocuments(options: ServerOptions = {}): Promise<TestServer> {
  const bootstrap = { ...authorizeBootstrap, clients: [...authorizeBootstrap.clients, caller('root', 'svc.admin')] }
  const server = await startServer({ ...options, config: { bootstrap, ...options.config } })
  await takeDocuments(server)
  return server
}
