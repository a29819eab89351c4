// The program: `mcc COMMAND ...`, or the same under the name mcc-COMMAND.
int main() { return 2; }
