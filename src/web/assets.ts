import { readFileSync, readdirSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { digest } from '../base/secrets.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

/** A small image as a `data:` URL, which saves a request. */
export function pictureIn(folder: string, name: string): string {
  const type = TYPES[extname(name)] ?? ''
  return `data:${type};base64,${readFileSync(join(folder, name)).toString('base64')}`
}

const CONFIG = {
  access: { by: 'anyone', because: 'it is what pages are made of' },
  audience: 'open',
  zone: false,
} as const

const STYLESHEET = 'latchkey.css'
/** UAA: requested by old pages and probes, even in zones that do not exist. */
const UAA_STYLESHEET = '/resources/oss/stylesheets/application.css'

/** Serves a folder's files from memory below `/resources/`. Returns URLs by file name; each has a hash of its content. */
export function serveAssets(app: FastifyInstance, folder: string, basePath: string): ReadonlyMap<string, string> {
  const urls = new Map<string, string>()
  for (const name of readdirSync(folder)) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    const content = readFileSync(join(folder, name))
    const tag = digest(content.toString('base64')).slice(0, 16)
    urls.set(name, `${basePath}/resources/${name}?v=${tag}`)
    const serve = (url: string, cached: string): void => {
      app.get(url, { config: CONFIG }, (request, reply) => {
        reply.header('etag', `"${tag}"`).header('cache-control', cached).type(type)
        return request.headers['if-none-match'] === `"${tag}"` ? reply.status(304).send() : reply.send(content)
      })
    }
    serve(`/resources/${name}`, 'public, max-age=31536000, immutable')
    if (name === STYLESHEET) serve(UAA_STYLESHEET, 'public, max-age=300') // this URL has no content hash
  }
  return urls
}
