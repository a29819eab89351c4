// Reads the text form of a whole program (loop_ops.h): one function for each production.
#include "loop/parse.h"

#include <limits>
#include <map>

#include "base/text.h"
#include "loop/build.h"
#include "loop/loop_ops.h"
#include "loop/text_form.h"

namespace mcc::loop {

namespace {

class FuncParser {
 public:
  explicit FuncParser(std::string_view text) : scan_(text) {
    names_.variable = [this](std::string_view name) { return variable(name); };
    names_.buffer = [this](std::string_view name) -> std::optional<int> {
      const auto found = buffer_ids_.find(name);
      return found == buffer_ids_.end() ? std::nullopt : std::optional<int>(found->second);
    };
    names_.buffers = &func_.buffers;
  }
  Func parse();

 private:
  std::string identifier(std::string_view what);
  i64 integer();
  int axis();
  Shape shape();
  void buffer(Scope scope);
  void pack(Pack& pack);
  void declared_vars();
  std::vector<Stmt> block();
  Stmt statement();
  Stmt loop(LoopKind kind);
  Prefetch prefetch();
  Stmt branch();
  Stmt store();
  Expr variable(std::string_view name) const;
  int loop_var(const Token& token);
  int known_buffer(std::string_view what);
  Expr expression() { return parse_expr(scan_, names_); }

  Scanner scan_;
  Names names_;
  Func func_;
  std::map<std::string, int, std::less<>> buffer_ids_, var_ids_;  // var_ids_: by printed name, name#1 included
};

std::string FuncParser::identifier(std::string_view what) {
  const Token token = scan_.next();
  if (token.kind != Token::name || !is_identifier(token.spelling)) {
    scan_.error_at(token.at, fmt::format("expected {}, found {}", what, Scanner::shown(token)));
  }
  return std::string(token.spelling);
}

i64 FuncParser::integer() {
  const Token token = scan_.next();
  const auto value = token.kind == Token::number ? to_i64(token.spelling) : std::nullopt;
  if (!value) scan_.error_at(token.at, fmt::format("expected a number, found {}", Scanner::shown(token)));
  return *value;
}

int FuncParser::axis() {
  const size_t at = scan_.peek().at;
  const i64 value = integer();
  if (value > std::numeric_limits<int>::max()) scan_.error_at(at, fmt::format("{} is no axis", value));
  return static_cast<int>(value);
}

Shape FuncParser::shape() {
  Shape dims;
  scan_.expect("[");
  if (scan_.accept("]")) return dims;
  do dims.push_back(integer());
  while (scan_.accept(","));
  scan_.expect("]");
  return dims;
}

void FuncParser::pack(Pack& pack) {
  pack.source = shape();
  if (scan_.accept("winograd")) {
    pack.winograd = integer();
    scan_.expect(":");
  }
  while (scan_.peek().kind == Token::number) {
    PackDim dim;
    dim.axis = axis();
    if (scan_.accept("*")) dim.scale = integer();
    pack.dims.push_back(dim);
  }
}

void FuncParser::buffer(Scope scope) {
  const Token name = scan_.peek();
  Buffer b;
  b.scope = scope;
  b.name = identifier("a buffer's name");
  if (b.name == "vars" || b.name == "else")  // a store to it would be read as something else
    scan_.error_at(name.at, fmt::format("'{}' cannot be the name of a buffer", b.name));
  scan_.expect(":");
  const Token type = scan_.next();
  const auto dtype = dtype_from_name(type.spelling);
  if (!dtype) scan_.error_at(type.at, fmt::format("unknown type {}", Scanner::shown(type)));
  b.dtype = *dtype;
  b.shape = shape();
  if (scan_.accept("pack")) pack(b.pack);
  const auto [at, added] = buffer_ids_.emplace(b.name, static_cast<int>(func_.buffers.size()));
  if (!added) scan_.error_at(name.at, fmt::format("buffer '{}' is declared twice", b.name));
  func_.buffers.push_back(std::move(b));
}

// A `vars` line: the variables in order, a name once for each variable that has it.
void FuncParser::declared_vars() {
  std::map<std::string, int> seen;
  if (scan_.peek().kind != Token::name) return;
  do {
    const std::string name = identifier("a variable's name");
    const int before = seen[name]++;
    var_ids_[before == 0 ? name : fmt::format("{}#{}", name, before)] = static_cast<int>(func_.vars.size());
    func_.vars.push_back(name);
  } while (scan_.accept(","));
}

Expr FuncParser::variable(std::string_view name) const {
  const auto found = var_ids_.find(name);
  if (found == var_ids_.end()) fail("unknown variable '{}'", name);
  return var(found->second);
}

int FuncParser::loop_var(const Token& token) {
  const std::string_view plain = token.spelling.substr(0, token.spelling.find('#'));
  if (token.kind != Token::name || !is_identifier(plain)) {
    scan_.error_at(token.at, fmt::format("expected a variable, found {}", Scanner::shown(token)));
  }
  const auto [at, added] = var_ids_.emplace(token.spelling, static_cast<int>(func_.vars.size()));
  if (added) func_.vars.emplace_back(plain);
  return at->second;
}

int FuncParser::known_buffer(std::string_view what) {
  const Token name = scan_.next();
  const auto id = name.kind == Token::name ? names_.buffer(name.spelling) : std::nullopt;
  if (!id) scan_.error_at(name.at, fmt::format("expected {}, found {}", what, Scanner::shown(name)));
  return *id;
}

Func FuncParser::parse() {
  scan_.expect("func");
  if (scan_.peek().kind == Token::text) {
    const std::string_view quoted = scan_.next().spelling;
    func_.name = quoted.substr(1, quoted.size() - 2);
  } else {
    func_.name = identifier("a name");
  }
  const auto scope = [&]() -> std::optional<Scope> {
    const auto found = find_word(scope_names(), scan_.peek().spelling);
    if (!found || scan_.peek().kind != Token::name) return std::nullopt;
    scan_.next();
    return static_cast<Scope>(*found);
  };
  scan_.expect("(");
  if (!scan_.accept(")")) {
    do {
      const auto found = scope();
      if (!found)
        scan_.error(fmt::format("expected input, constant or output, found {}", Scanner::shown(scan_.peek())));
      buffer(*found);
    } while (scan_.accept(","));
    scan_.expect(")");
  }
  scan_.expect("{");
  if (scan_.accept("vars")) declared_vars();
  while (const auto found = scope()) buffer(*found);
  while (!scan_.accept("}")) func_.body.push_back(statement());
  if (scan_.peek().kind != Token::end) scan_.error(fmt::format("unexpected {}", Scanner::shown(scan_.peek())));
  return std::move(func_);
}

std::vector<Stmt> FuncParser::block() {
  const Scanner::Nested nested(scan_);
  std::vector<Stmt> body;
  scan_.expect("{");
  while (!scan_.accept("}")) body.push_back(statement());
  return body;
}

Stmt FuncParser::statement() {
  const auto kind = find_word(loop_kind_names(), scan_.peek().spelling);
  if (kind) {
    scan_.next();
    return loop(static_cast<LoopKind>(*kind));
  }
  return scan_.accept("if") ? branch() : store();
}

Stmt FuncParser::loop(LoopKind kind) {
  Loop loop;
  loop.kind = kind;
  loop.var = loop_var(scan_.next());
  scan_.expect("in");
  loop.extent = integer();
  while (scan_.accept("prefetch")) loop.ahead.push_back(prefetch());
  loop.body = block();
  return Stmt{std::move(loop)};
}

Prefetch FuncParser::prefetch() {
  Prefetch fetch;
  fetch.lines = integer();
  fetch.buffer = known_buffer("a buffer");
  scan_.expect("[");
  fetch.at = expression();
  scan_.expect("]");
  return fetch;
}

Stmt FuncParser::branch() {
  If branch;
  branch.condition = expression();
  branch.then_body = block();
  if (scan_.accept("else")) branch.else_body = block();
  return Stmt{std::move(branch)};
}

Stmt FuncParser::store() {
  Store store;
  store.buffer = known_buffer("a statement");
  scan_.expect("[");
  store.index = parse_expr_list(scan_, names_, "]");
  const Token op = scan_.next();
  std::string word(op.spelling);
  if (op.kind == Token::name) {
    scan_.expect("=");
    word += "=";
  }
  const auto found = find_word(store_op_names(), word);
  if (!found) scan_.error_at(op.at, fmt::format("expected '=', '+=' or another assignment, found '{}'", word));
  store.op = static_cast<StoreOp>(*found);
  store.value = expression();
  if (scan_.accept("@")) store.block = identifier("a block's name");
  return Stmt{std::move(store)};
}

}  // namespace

Func parse_func(std::string_view text) { return FuncParser(text).parse(); }

}  // namespace mcc::loop
