import { readFileSync, readdirSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { digest } from '../base/secrets.ts'
import { namesTag } from './entity-tag.ts'
import { queryForm } from './requests/query.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

const CONFIG = {
  access: { by: 'anyone', because: 'pages load these files' },
  audience: 'open',
  zone: false,
} as const

const STYLESHEET = 'latchkey.css'
/** UAA: requested by old pages and probes, even in zones that do not exist. */
const UAA_STYLESHEET = '/resources/oss/stylesheets/application.css'

/** The files that pages load. */
const FILES = {
  stylesheet: STYLESHEET,
  iconFile: 'icon.svg',
  sessionFrameScript: 'session-frame.js',
  formPostScript: 'form-post.js',
  fragmentPostScript: 'fragment-post.js',
  logoutFramesScript: 'logout-frames.js',
  passkeyScript: 'passkeys.js',
  factorStylesheet: 'factors.css',
  docsStylesheet: 'docs.css',
  script: 'latchkey.js',
  docsScript: 'docs.js',
} as const

/** Their URLs, which change with the content. */
export interface Assets extends Readonly<Record<keyof typeof FILES, string>> {
  /** The icon as a data URL, which saves the page a request. */
  readonly icon: string
  /** Serves the files from memory, below `/resources/`. */
  serve(app: FastifyInstance): void
}

/**
 * How long a file may be cached: a year only under the URL of its own version. During an upgrade, a page of one server may
 * request a version that another server does not have; caches must not keep that response under this URL.
 */
export const cachingOf = (request: FastifyRequest, version: string): string =>
  queryForm(request).get('v') === version ? 'public, max-age=31536000, immutable' : 'no-cache'

interface Asset {
  readonly name: string
  readonly type: string
  readonly content: Buffer
  readonly tag: string
}

/** The stylesheet without comments and whitespace, which are a quarter of its size. */
export const withoutComments = (css: string): string =>
  css
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\n\s+/g, '\n')
    .replace(/ \{$/gm, '{')
    .replace(/^([\w-]+): /gm, '$1:')
    .replaceAll(';\n}', '}')
    .replace(/([;{}])\n/g, '$1')
    .trimStart()

/** Of each folder: they do not change while the server runs, which may be one of several in the process. */
const loaded = new Map<string, readonly Asset[]>()

function assetsOf(folder: string): readonly Asset[] {
  const known = loaded.get(folder)
  if (known) return known
  const assets = readdirSync(folder).flatMap((name): Asset | readonly [] => {
    const type = TYPES[extname(name)]
    if (type === undefined) return []
    const file = readFileSync(join(folder, name))
    const content = type === TYPES['.css'] ? Buffer.from(withoutComments(file.toString())) : file
    return { name, type, content, tag: digest(content.toString('base64')).slice(0, 16) }
  })
  loaded.set(folder, assets)
  return assets
}

/** The few files of the folder, which are read once. */
export function loadAssets(folder: string, basePath: string): Assets {
  const assets = assetsOf(folder)
  const find = (name: string): Asset => {
    const asset = assets.find(each => each.name === name)
    if (!asset) throw new Error(`${folder} has no ${name}`)
    return asset
  }
  const urls = Object.entries(FILES).map(([key, name]) => [key, `${basePath}/resources/${name}?v=${find(name).tag}`])
  const icon = find(FILES.iconFile)
  return {
    ...(Object.fromEntries(urls) as Record<keyof typeof FILES, string>), // whose keys are those of FILES
    icon: `data:${icon.type};base64,${icon.content.toString('base64')}`,
    serve(app) {
      for (const asset of assets) {
        serveAt(app, `/resources/${asset.name}`, asset)
        if (asset.name === STYLESHEET) serveAt(app, UAA_STYLESHEET, asset, 'public, max-age=300') // a URL that stays
      }
    },
  }
}

function serveAt(app: FastifyInstance, url: string, { type, content, tag }: Asset, caching?: string): void {
  app.get(url, { config: CONFIG }, (request, reply) => {
    const etag = `"${tag}"`
    reply
      .header('etag', etag)
      .header('cache-control', caching ?? cachingOf(request, tag))
      .type(type)
    return namesTag(request.headers['if-none-match'], etag) ? reply.status(304).send() : reply.send(content)
  })
}
