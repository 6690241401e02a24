// The ceiling: what node:http alone answers on this machine. Usage: node bench/peers/hello.ts PORT
import { createServer } from 'node:http'

const body = Buffer.from('hello world')

createServer((request, response) => {
  // The body is read to its end, as every server has to do before it can answer.
  request.resume()
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.length })
    response.end(body)
  })
}).listen(Number(process.argv[2]), '127.0.0.1')
