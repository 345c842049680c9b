# A driver that starts no handler, and in `run` or `log` does what CONDUCT says.
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%,*}
  op=${line#*\"op\":\"}
  op=${op%%\"*}
  case $op in
  start) ok='{"session":"1d1e1d1e1d1e1d1e1d1e1d1e1d1e1d1e"}' ;;
  log) ok='{"entries":[]}' ;;
  *) ok='{}' ;;
  esac
  case $op/$CONDUCT in
  run/nonsense) echo 'the run went well' ;;
  run/not-utf8) printf '{"id":%s,"ok":{"a":"\377"}}\n' "$id" ;;
  run/wrong-id) printf '{"id":%s,"ok":{}}\n' 987654 ;;
  run/twice) printf '{"id":%s,"ok":{}}\n{"id":%s,"ok":{}}\n' "$id" "$id" ;;
  run/never) ;;
  run/late)
    sleep 1
    printf '{"id":%s,"ok":{}}\n' "$id"
    ;;
  run/half-a-line)
    printf '{"id":%s,"o' "$id"
    exit 0
    ;;
  run/huge-line) head -c 40000000 /dev/zero | tr '\0' x ;;
  run/dies)
    echo 'out of memory' >&2
    exit 3
    ;;
  run/killed) kill -9 $$ ;;
  run/closes-stdout)
    exec 1>&-
    sleep 60
    ;;
  run/floods-stderr)
    head -c 52428800 /dev/zero >&2
    printf '{"id":%s,"ok":{}}\n' "$id"
    ;;
  run/internal) printf '{"id":%s,"error":{"kind":"internal","message":"disk full"}}\n' "$id" ;;
  run/unsupported | log/log-unsupported) printf '{"id":%s,"unsupported":true}\n' "$id" ;;
  run/unknown-kind) printf '{"id":%s,"error":{"kind":"other","message":"m"}}\n' "$id" ;;
  log/log-of-numbers) printf '{"id":%s,"ok":{"entries":[1]}}\n' "$id" ;;
  log/log-of-nothing) printf '{"id":%s,"ok":{}}\n' "$id" ;;
  *) printf '{"id":%s,"ok":%s}\n' "$id" "$ok" ;;
  esac
done
