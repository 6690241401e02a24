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

/** A small picture as part of a page, which then needs no request for it. */
export function pictureIn(folder: string, name: string): string {
  const type = TYPES[extname(name)] ?? ''
  return `data:${type};base64,${readFileSync(join(folder, name)).toString('base64')}`
}

/** Serves the few files of a folder from memory, below `/resources/`; answers their URLs, which change with the content. */
export function serveAssets(app: FastifyInstance, folder: string, basePath: string): ReadonlyMap<string, string> {
  const urls = new Map<string, string>()
  for (const name of readdirSync(folder)) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    const content = readFileSync(join(folder, name))
    const tag = digest(content.toString('base64')).slice(0, 16)
    urls.set(name, `${basePath}/resources/${name}?v=${tag}`)
    app.get(
      `/resources/${name}`,
      { config: { access: { by: 'anyone', because: 'it is what pages are made of' }, audience: 'open', zone: false } },
      (request, reply) => {
        reply.header('etag', `"${tag}"`).header('cache-control', 'public, max-age=31536000, immutable').type(type)
        return request.headers['if-none-match'] === `"${tag}"` ? reply.status(304).send() : reply.send(content)
      },
    )
  }
  return urls
}
